/// How far an attempt to connect came; connection failures mostly carry no SQLSTATE, so this is what
/// tells them apart.
public struct ConnectionPhase: Hashable, Sendable, CustomStringConvertible {
  private enum Value: String {
    case configuration, passwordFile, nameResolution, refused, timeout, tls, authentication, databaseMissing
    case tooManyClients, startingUp, wrongServer, interrupted
  }

  private let value: Value

  /// The connection string, service or password file cannot be used.
  public static let configuration = ConnectionPhase(value: .configuration)
  /// A password file is not used, since others than its owner can read it.
  public static let passwordFile = ConnectionPhase(value: .passwordFile)
  /// The host's name has no address.
  public static let nameResolution = ConnectionPhase(value: .nameResolution)
  /// Nobody listens at the address or socket, or it cannot be reached.
  public static let refused = ConnectionPhase(value: .refused)
  /// No answer within the connect timeout.
  public static let timeout = ConnectionPhase(value: .timeout)
  /// The TLS handshake or the check of the certificate failed.
  public static let tls = ConnectionPhase(value: .tls)
  /// The server does not let this role in, for want of the right password or by `pg_hba.conf`.
  public static let authentication = ConnectionPhase(value: .authentication)
  /// There is no database of that name.
  public static let databaseMissing = ConnectionPhase(value: .databaseMissing)
  /// The server has no connection left (SQLSTATE 53300).
  public static let tooManyClients = ConnectionPhase(value: .tooManyClients)
  /// The server is starting up, shutting down or recovering (SQLSTATE 57P03).
  public static let startingUp = ConnectionPhase(value: .startingUp)
  /// The server is not of the kind asked for by `target_session_attrs`.
  public static let wrongServer = ConnectionPhase(value: .wrongServer)
  /// The server went away in the middle of connecting.
  public static let interrupted = ConnectionPhase(value: .interrupted)

  /// Whether waiting may cure it, without anybody changing a setting.
  public var isTransient: Bool {
    switch value {
    case .configuration, .passwordFile, .tls, .authentication, .databaseMissing: false
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
    case .authentication: "the server refused the role"
    case .databaseMissing: "the database does not exist"
    case .tooManyClients: "the server has no connection left"
    case .startingUp: "the server is starting up or shutting down"
    case .wrongServer: "the server is not of the kind asked for"
    case .interrupted: "the server closed the connection while it was being made"
    }
  }
}
