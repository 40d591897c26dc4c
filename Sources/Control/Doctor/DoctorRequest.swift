import CommandLineTool
import Endpoint
import PostgreSQL

/// What is to be looked at, and how closely.
struct DoctorRequest: Sendable {
  /// What a person names. What is left out is taken from the worker's configuration file, if one is named.
  struct Named: Sendable {
    /// The worker's configuration file.
    var workerConfiguration: String?
    /// The endpoint and how it is called.
    var endpoint = EndpointSettings.Named()
    /// The file with the keys of encrypted images.
    var keyFile: String?
    /// Whether it is said where the database is, so that the worker's file does not count for it.
    var isDatabaseGiven = false
    /// Whether to recount everybody's use, which reads all jobs.
    var isDeep = false
    /// For how long a transaction, or a session that holds one, may last before it is a finding.
    var longTransaction: Duration = .seconds(300)
    /// For how long a job may wait before it is a finding; nil for any time.
    var maxWait: Duration?

    /// Nothing is named.
    init() {}
  }

  /// Where the worker finds the queue; nil to look where every command does.
  let database: ConnectionConfiguration?
  /// What there is to know of the workers' settings; nil when none were named.
  let worker: WorkerUse?
  /// The endpoints to be asked, and how.
  let endpoint: EndpointSettings
  /// Where the keys of encrypted images are.
  let keys: SecretUse
  let isDeep: Bool
  let longTransaction: Duration
  let maxWait: Duration?

  /// Puts together what was named and what the worker's file says.
  ///
  /// - Throws: What is wrong with the worker's file or an address.
  init(_ named: Named, environment: [String: String]) throws {
    let path = named.workerConfiguration
    let settings = try path.map(GivenSettings.read)
    isDeep = named.isDeep
    longTransaction = named.longTransaction
    maxWait = named.maxWait
    worker = try path.flatMap { path in
      try settings.map { WorkerUse(path: path, listens: try $0.values[WorkerOptions.listen]) }
    }
    endpoint = try EndpointSettings(named.endpoint, settings, environment: environment)
    keys = SecretUse(
      named: named.keyFile, inSettings: try settings?.values[WorkerOptions.keyFile], environment)
    database = named.isDatabaseGiven ? nil : try settings?.database()
  }
}

/// What a worker's settings mean for the database.
struct WorkerUse: Sendable, Equatable {
  /// The file that they were read from.
  let path: String
  /// Whether it listens for wake-ups.
  let listens: Bool
}
