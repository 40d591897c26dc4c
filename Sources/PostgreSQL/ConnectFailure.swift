import Support

/// Reads what libpq says of a failed connection attempt, which has no fields and no SQLSTATE of its own.
///
/// With verbose errors libpq writes the server's as "FATAL:  28P01: password authentication failed …";
/// its own are known by their text, which is English because the program sets no locale.
enum ConnectFailure {
  static func error(_ libpqMessage: String, whenUnknown: ConnectionPhase) -> PostgreSQLError {
    let sqlState = sqlState(in: libpqMessage)
    let phase = phase(libpqMessage, sqlState) ?? whenUnknown
    let mayQuoteSettings = sqlState == nil && (phase == .configuration || phase == .interrupted)
    let message = mayQuoteSettings ? Redaction.withoutQuoted(libpqMessage) : libpqMessage
    var error = PostgreSQLError(
      .connectionFailed, "No connection: \(phase). \(withoutLocation(message).trimmed)")
    error.phase = phase
    error.sqlState = sqlState
    return error
  }

  /// The time is over; what the servers said that did answer is reported too.
  static func timeout(after other: PostgreSQLError?) -> PostgreSQLError {
    let others = other.map { " Of another server: \($0.message)" } ?? ""
    var error = PostgreSQLError(.connectionFailed, "No connection: \(ConnectionPhase.timeout).\(others)")
    error.phase = .timeout
    return error
  }

  /// The five-character code between a severity and a message.
  static func sqlState(in text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 10 else { return nil }
    for start in 0...(bytes.count - 10) where bytes[start..<start + 3].elementsEqual(":  ".utf8) {
      let code = bytes[start + 3..<start + 8]
      let isCode = code.allSatisfy { (48...57).contains($0) || (65...90).contains($0) }
      if isCode, bytes[start + 8] == 58, bytes[start + 9] == 32 {
        return String(decoding: code, as: UTF8.self)
      }
    }
    return nil
  }

  private static func phase(_ text: String, _ sqlState: String?) -> ConnectionPhase? {
    if let sqlState {
      switch sqlState {
      case "53300": return .tooManyClients
      case "57P03": return .startingUp
      case "3D000": return .databaseMissing
      case _ where sqlState.hasPrefix("28"), PostgreSQLError.permissionDenied: return .authentication
      // 58 and XX too: a server whose volume is full lets nobody in by those, until there is room.
      case _ where ["53", "57", "58", "XX"].contains(sqlState.prefix(2)): return .interrupted
      case _ where sqlState.hasPrefix("08"): return poolerPhase(text)
      default: return .configuration
      }
    }
    let marks: [(ConnectionPhase, [String])] = [
      (.nameResolution, ["could not translate host name", "could not look up"]),
      (
        .refused,
        [
          "Connection refused", "No such file or directory", "No route to host", "is unreachable",
          "Is the server running",
        ]
      ),
      (.timeout, ["timeout expired", "Connection timed out"]),
      // What libpq says of a server that does not do what `LocalProof` demands.
      (
        .proof,
        [
          "authentication method requirement", "channel binding", "server signature", "requirepeer",
        ]
      ),
      (.authentication, ["no password supplied", "authentication"]),
      (.tls, ["SSL", "certificate", "TLS"]),
      (.wrongServer, ["session is", "server is in hot standby", "server is not in hot standby"]),
      (
        .interrupted,
        ["server closed the connection", "Connection reset", "could not receive", "could not send"]
      ),
    ]
    for (phase, texts) in marks where texts.contains(where: text.contains) { return phase }
    return nil
  }

  /// PgBouncer has one code for most of what it says; only its message tells what waiting cures.
  private static func poolerPhase(_ text: String) -> ConnectionPhase {
    let marks: [(ConnectionPhase, [String])] = [
      (.configuration, ["unsupported startup parameter", "config error"]),
      (.databaseMissing, ["no such database"]),
      (.authentication, ["no such user"]),
      (.tooManyClients, ["no more connections allowed"]),
    ]
    return marks.first { $0.1.contains(where: text.contains) }?.0 ?? .interrupted
  }

  /// Drops the line that gives the line of the server's source.
  private static func withoutLocation(_ text: String) -> String {
    text.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }.joined(separator: "\n")
  }
}

/// How far an attempt to connect came; connection failures mostly carry no SQLSTATE, so this is what
/// tells them apart.
public struct ConnectionPhase: Hashable, Sendable, CustomStringConvertible {
  private enum Value: String {
    case configuration, passwordFile, nameResolution, refused, timeout, tls, proof, authentication
    case databaseMissing
    case tooManyClients, startingUp, wrongServer, interrupted, session
  }

  private let value: Value

  /// The connection string, service or password file cannot be used.
  public static let configuration = ConnectionPhase(value: .configuration)
  /// A password file is not used, since others than its owner can read it.
  public static let passwordFile = ConnectionPhase(value: .passwordFile)
  /// The host's name has no address.
  static let nameResolution = ConnectionPhase(value: .nameResolution)
  /// Nobody listens at the address or socket, or it cannot be reached.
  public static let refused = ConnectionPhase(value: .refused)
  /// No answer within the connect timeout.
  public static let timeout = ConnectionPhase(value: .timeout)
  /// The TLS handshake or the check of the certificate failed.
  public static let tls = ConnectionPhase(value: .tls)
  /// The server did not prove that it is the one that is meant.
  public static let proof = ConnectionPhase(value: .proof)
  /// The server does not let this role in, for want of the right password or by `pg_hba.conf`.
  public static let authentication = ConnectionPhase(value: .authentication)
  /// There is no database of that name.
  public static let databaseMissing = ConnectionPhase(value: .databaseMissing)
  /// The server has no connection left (SQLSTATE 53300).
  public static let tooManyClients = ConnectionPhase(value: .tooManyClients)
  /// The server is starting up, shutting down or recovering (SQLSTATE 57P03).
  public static let startingUp = ConnectionPhase(value: .startingUp)
  /// The server is not of the kind asked for by `target_session_attrs`.
  static let wrongServer = ConnectionPhase(value: .wrongServer)
  /// The server went away in the middle of connecting.
  public static let interrupted = ConnectionPhase(value: .interrupted)

  /// A setting of the role or the database is not as the program needs it, and a pooler has the session.
  public static let session = ConnectionPhase(value: .session)

  /// Whether waiting may cure it, without anybody changing a setting.
  public var isTransient: Bool {
    switch value {
    case .configuration, .passwordFile, .tls, .proof, .authentication, .databaseMissing, .session: false
    case .nameResolution, .refused, .timeout, .tooManyClients, .startingUp, .wrongServer, .interrupted: true
    }
  }

  /// What went wrong, as the beginning of a sentence.
  public var description: String {
    switch value {
    case .configuration: "the connection settings cannot be used"
    case .passwordFile: "others can read the password file"
    case .nameResolution: "the server's name was not found"
    case .refused: "the server cannot be reached"
    case .timeout: "the server did not answer in time"
    case .tls: "the secure connection failed"
    case .proof: "the server did not prove who it is"
    case .authentication: "the server refused the role"
    case .databaseMissing: "the database does not exist"
    case .tooManyClients: "the server has no connection left"
    case .startingUp: "the server is starting up or shutting down"
    case .wrongServer: "the server is not of the kind asked for"
    case .interrupted: "the server closed the connection while it was being made"
    case .session: "a setting of the session is wrong"
    }
  }
}
