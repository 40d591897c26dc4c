import CommandLineTool
import Endpoint
import FoundationEssentials
import HTTPTransfer
import Images
import PostgreSQL
import Queue
import Support

/// The options that every command takes.
enum CommonOptions {
  static let database = Option<String?>(
    "database", .string, valueName: "CONNINFO", environment: "ANALYSIS_DATABASE", key: "database",
    help: "How to reach PostgreSQL: a URI or key=value pairs, for instance service=analysis. Without it the "
      + "usual PG* variables count. A password comes from a password file alone.")
  static let connectTimeout = Option(
    "connect-timeout", .duration, default: .seconds(30), environment: "ANALYSIS_CONNECT_TIMEOUT",
    key: "connect-timeout",
    help:
      "How long to go on trying while the database cannot be reached, for instance while a standby takes over; "
      + "0s tries once.")
  static let configuration = Option<String?>(
    "config", .path, environment: "ANALYSIS_CONFIG", help: "A configuration file with lines of key = value.")
  static let auditEnds = Option<AuditEnds?>(
    "audit-ends", .auditEnds, environment: "ANALYSIS_AUDIT_ENDS", key: "audit-ends",
    help:
      "Keep the end of the audit outside of the database when a command has moved it: append it to this file, or "
      + "send it to the system's journal. journal:NAME tells installations of a machine apart.")
  static let json = Flag("json", help: "Write results as JSON on standard output.")
  static let logLevel = Option(
    "log-level", .choice(Log.Level.self), default: .warning, environment: "ANALYSIS_LOG_LEVEL",
    key: "log-level", help: "The least important message of the program and the server that is shown.")

  static let all: [any Input] = [
    database, SharedOptions.databaseProof, connectTimeout, configuration, auditEnds, ProductOptions.folder,
    ProductOptions.product, json, logLevel,
  ]

  static let source = SharedOptions.configuration(configuration)
}

/// The file with the keys of encrypted images, for the commands that have to do with it.
enum KeyFileOption {
  static let path = Option<String?>(
    "key-file", .path, environment: "ANALYSIS_KEY_FILE", key: "key-file",
    help: "File (mode 0600) with the keys of encrypted images; a bare name is a service credential.")

  /// The keys; nil when no file is named.
  static func read(_ context: ControlContext) async throws -> KeyRing? {
    guard let path = try context[path] else { return nil }
    let environment = context.environment
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      try KeyFile.read(path, environment: environment)
    }
    return try await reading.value
  }

  /// The keys, for a command that needs them.
  static func readRequired(_ context: ControlContext) async throws -> KeyRing {
    guard let keys = try await read(context) else { throw missing }
    return keys
  }

  /// The file's path, for a command that needs it.
  static func required(_ context: ControlContext) throws -> String {
    guard let path = try context[path] else { throw missing }
    return path
  }

  private static let missing = CommandFailure.usage(
    "no key file is named",
    advice: "Name it with --key-file, with ANALYSIS_KEY_FILE, or in the configuration file.")
}

/// The object store in which images are, for the commands that read, write or remove them.
enum ImageStoreOption {
  /// A command that needs a store was given none.
  static let missing = CommandFailure.usage(
    "no object store is named", advice: "Name its file with --image-store.")

  /// Lends the store to a command's work and closes it then; nil where none is named.
  static func with<R>(_ session: ControlSession, _ body: (ImageStore?) async throws -> R) async throws -> R {
    guard let path = try session.context[SharedOptions.imageStore] else { return try await body(nil) }
    let (environment, loop) = (session.context.environment, session.loop)
    let store = try await onThread { () throws(SystemError) in
      try ImageStore(file: path, environment: environment, loop: loop)
    }
    do {
      let result = try await body(store)
      await store.close()
      return result
    } catch {
      await store.close()
      throw error
    }
  }
}

/// The option by which somebody says why.
enum ReasonOption {
  static let reason = Option<String?>(
    "reason", .reason, help: "Why, for the audit; at most 500 characters, and no names of people.")
}

extension ValueFormat where Value == String {
  /// A text of at most 500 characters, without what could move the cursor or turn a line round.
  static var reason: Self {
    ValueFormat(
      name: "TEXT",
      parse: { (given: String) throws(ValueError) -> String in
        let text = printable(given).split(separator: " ").joined(separator: " ")
        guard !text.isEmpty else { throw ValueError("is empty") }
        guard text.unicodeScalars.count <= 500 else { throw ValueError("has more than 500 characters") }
        return text
      },
      text: { $0 })
  }
}

/// The options that say which endpoint is called, how and by which account.
enum EndpointOptions {
  static let workerConfiguration = Option<String?>(
    "worker-config", .path,
    help: "A worker's configuration file: database, endpoints and the rest are taken from it.")
  static let endpoint = Option<String?>(
    "endpoint", .string, valueName: "url", help: "Base address of the endpoint.")
  static let credentials = Option<String?>(
    "credentials", .path, help: "File (mode 0600) with the service account's email and password.")
  static let dialect = Option<EndpointSettings.Dialect?>(
    "dialect", .choice(EndpointSettings.Dialect.self),
    help: "Which of the endpoint's two spellings to speak.")
  static let authorities = Option<String?>(
    "ca-file", .path, help: "Certificate authorities to trust for the endpoint, instead of the system's.")
  static let certificate = Option<String?>(
    "endpoint-certificate", .path,
    help:
      "File (mode 0600) with the certificate and key (PEM) by which the worker shows itself to the endpoint.")
  static let newestVersion = Option<HTTPVersion?>(
    "endpoint-http", .choice(HTTPVersion.self),
    help: "The newest version of HTTP that is offered to the endpoint.")
  static let plainHTTP = Flag(
    "allow-plain-http", help: "Allow an endpoint without TLS that is not this machine.")

  static let all: [any Input] = [
    workerConfiguration, endpoint, credentials, dialect, authorities, certificate, newestVersion,
    plainHTTP,
  ]

  /// What a command line names.
  static func named(_ context: ControlContext) throws(UsageError) -> EndpointSettings.Named {
    var named = EndpointSettings.Named()
    named.endpoint = try context[endpoint]
    named.credentials = try context[credentials]
    named.dialect = try context[dialect]
    named.authorities = try context[authorities]
    named.certificate = try context[certificate]
    named.newestVersion = try context[newestVersion]
    named.plainHTTP = try context[plainHTTP]
    return named
  }
}

extension ValueFormat where Value == Expiry {
  /// `90d`, `2026-12-31` or `2026-12-31T08:00:00Z`.
  static var expiry: Self {
    ValueFormat(
      name: "WHEN",
      parse: { (given: String) throws(ValueError) -> Expiry in
        guard let expiry = Expiry(given) else {
          throw ValueError(
            "is neither a length of time such as 90d, nor a day such as 2026-12-31, nor a time such as "
              + "2026-12-31T08:00:00Z")
        }
        return expiry
      },
      text: \.written)
  }
}

/// A month as it is asked for.
enum MonthChoice: Sendable, Equatable {
  /// The running one by the server's clock, in the installation's zone.
  case current
  /// The one before the running one.
  case previous
  /// One by its name.
  case month(Period)
}

extension ValueFormat where Value == MonthChoice {
  /// `2026-10`, `current` or `previous`.
  static var monthChoice: Self {
    ValueFormat(
      name: "MONTH", completion: .words(["current", "previous"]),
      parse: { (given: String) throws(ValueError) -> MonthChoice in
        switch given {
        case "current": return .current
        case "previous": return .previous
        default:
          guard let period = Period(given) else {
            throw ValueError("is not a month; write YYYY-MM, for example 2026-10, or current or previous")
          }
          return .month(period)
        }
      },
      text: { choice in
        switch choice {
        case .current: "current"
        case .previous: "previous"
        case .month(let period): period.description
        }
      })
  }
}

extension ValueFormat where Value == JobID {
  static var jobID: Self {
    ValueFormat(
      name: "JOB",
      read: { JobID($0) },
      else: "is not a job's number",
      text: \.description)
  }
}

extension MonthChoice {
  /// Which month is meant: by the server's clock, in the installation's zone.
  func period(_ database: ConnectionPool) async throws -> Period {
    switch self {
    case .month(let period): return period
    case .current: return try await Reporter(database).currentMonth()
    case .previous:
      let current = try await Reporter(database).currentMonth()
      guard let previous = current.previous else {
        throw CommandFailure(.usage, "there is no month before \(current)")
      }
      return previous
    }
  }
}
