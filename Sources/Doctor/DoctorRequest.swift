import AnalysisCore
import CommandLineTool
import HTTPTransfer
public import ModelClient
public import PostgreSQL
import WorkerSettings

/// What is to be looked at, and how closely.
public struct DoctorRequest: Sendable {
  /// How requests and answers are written: one of the endpoint's two spellings.
  public typealias Dialect = Endpoint.Dialect

  /// What a person names. What is left out is taken from the worker's configuration file, if one is named.
  public struct Named: Sendable {
    /// The worker's configuration file.
    public var workerConfiguration: String?
    /// The base address of the endpoint.
    public var endpoint: String?
    /// The file with the service account.
    public var credentials: String?
    /// The file with the certificate by which the worker shows itself to the endpoint.
    public var certificate: String?
    /// Which of the endpoint's two spellings to speak.
    public var dialect: Dialect?
    /// The file of certificate authorities to trust for the endpoint.
    public var authorities: String?
    /// Whether an endpoint without TLS may be on another machine.
    public var plainHTTP = false
    /// The file with the keys of encrypted images.
    public var keyFile: String?
    /// Whether it is said where the database is, so that the worker's file does not count for it.
    public var isDatabaseGiven = false
    /// Whether to recount everybody's use, which reads all jobs.
    public var isDeep = false
    /// For how long a transaction, or a session that holds one, may last before it is a finding.
    public var longTransaction: Duration = .seconds(300)
    /// For how long a job may wait before it is a finding; nil for any time.
    public var maxWait: Duration?

    /// Nothing is named.
    public init() {}
  }

  /// Where the worker finds the queue; nil to look where every command does.
  public let database: ConnectionConfiguration?
  /// What there is to know of the workers' settings; nil when none were named.
  let worker: WorkerUse?
  /// The endpoints to be asked; empty when none was named.
  let endpoints: [EndpointUse]
  /// Where the certificate is by which a worker shows itself to them.
  let certificate: SecretUse
  /// How they are reached, but for that certificate.
  let transfer: HTTPTransfer.Configuration
  /// Where the keys of encrypted images are.
  let keys: SecretUse
  let isDeep: Bool
  let longTransaction: Duration
  let maxWait: Duration?

  /// Puts together what was named and what the worker's file says.
  ///
  /// - Throws: What is wrong with the worker's file or an address.
  public init(_ named: Named, environment: [String: String]) throws {
    let path = named.workerConfiguration
    let settings = try path.map(GivenSettings.read)
    isDeep = named.isDeep
    longTransaction = named.longTransaction
    maxWait = named.maxWait
    worker = try path.flatMap { path in
      try settings.map { WorkerUse(path: path, listens: try $0.values[WorkerOptions.listen]) }
    }
    var transfer = try settings?.transfer() ?? HTTPTransfer.Configuration()
    transfer.readsCertificates = true
    if let file = named.authorities { transfer.certificateAuthorityFile = file }
    if named.plainHTTP { transfer.plainHTTP = .anywhere }
    self.transfer = transfer
    certificate = SecretUse(
      named: named.certificate, inSettings: try settings?.values[WorkerOptions.certificate], environment)
    keys = SecretUse(
      named: named.keyFile, inSettings: try settings?.values[WorkerOptions.keyFile], environment)
    endpoints = try Self.endpoints(named, settings, transfer, environment)
    database = named.isDatabaseGiven ? nil : try settings?.database()
  }

  /// The endpoint that is named, or else those of the worker's file, each once.
  private static func endpoints(
    _ named: Named, _ settings: GivenSettings?, _ transfer: HTTPTransfer.Configuration,
    _ environment: [String: String]
  ) throws -> [EndpointUse] {
    let credentials = SecretUse(
      named: named.credentials, inSettings: try settings?.values[WorkerOptions.credentials], environment)
    var addresses: [String] = []
    if let address = named.endpoint {
      addresses = [address]
    } else if let settings {
      let kinds = try settings.kinds()
      addresses = Set(try settings.addresses().filter { kinds.contains($0.key) }.values).sorted()
    }
    let dialect = try named.dialect ?? settings?.values[WorkerOptions.dialect] ?? .server
    return try addresses.map { address in
      do {
        try transfer.check(address)
      } catch let error as TransferError {
        throw CommandFailure.usage("the endpoint cannot be used: \(error)")
      }
      return EndpointUse(
        endpoint: Endpoint(name: address, baseURL: address, dialect: dialect), credentials: credentials)
    }
  }
}

/// What a worker's settings mean for the database.
struct WorkerUse: Sendable, Equatable {
  /// The file that they were read from.
  let path: String
  /// Whether it listens for wake-ups.
  let listens: Bool
}

/// How an endpoint is to be called.
struct EndpointUse: Sendable {
  /// Where it is and what it speaks.
  let endpoint: Endpoint
  /// Where the credentials are.
  let credentials: SecretUse
}

/// Where the service account, or the keys of encrypted images, are found.
enum SecretUse: Sendable, Equatable {
  /// Nowhere: calls are made without an account, or no images are encrypted.
  case none
  /// In a file.
  case file(String)
  /// The service manager gives it to the worker by this name, and to nobody else.
  case managed(String)

  /// The file that is named, or else that of the worker's file.
  init(named: String?, inSettings path: String?, _ environment: [String: String]) {
    if let named {
      self = .file(named)
    } else if let path {
      // A bare name may be a credential that the service manager gives to the worker alone.
      let isManaged = !path.contains("/") && environment["CREDENTIALS_DIRECTORY"] == nil
      self = isManaged ? .managed(path) : .file(path)
    } else {
      self = .none
    }
  }
}
