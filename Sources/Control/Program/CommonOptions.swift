import CommandLineTool
import Images
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

  /// The configuration file.
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
