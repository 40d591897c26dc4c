import AnalysisCore
import ModelClient

/// What is to be looked at, and how closely.
struct DoctorRequest: Sendable {
  /// What there is to know of the workers' settings; nil when none were named.
  var worker: WorkerUse?
  /// The endpoints to be asked; empty when none was named.
  var endpoints: [EndpointUse] = []
  /// Where the keys of encrypted images are.
  var keys = KeysUse.none
  /// Whether to recount everybody's use, which reads all jobs.
  var isDeep = false
  /// For how long a transaction, or a session that holds one, may last before it is a finding.
  var longTransaction: Duration = .seconds(300)
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
  let credentials: CredentialsUse
}

/// Where a service account is found.
enum CredentialsUse: Sendable, Equatable {
  /// Calls are made without one.
  case none
  /// In a file.
  case file(String)
  /// The service manager gives it to the worker by this name, and to nobody else.
  case managed(String)
}

/// Where the keys of encrypted images are found.
enum KeysUse: Sendable, Equatable {
  /// None are named.
  case none
  /// In a file.
  case file(String)
  /// The service manager gives them to the worker by this name, and to nobody else.
  case managed(String)
}
