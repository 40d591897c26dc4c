/// Where the server is and how calls to it behave.
///
/// What is not said here libpq takes from the `PG*` variables, the service file and the password file,
/// as `psql` does.
public struct ConnectionConfiguration: Sendable {
  /// A URI (`postgresql://…`) or `key=value` pairs, `service=…` among them; nil for the environment alone.
  public var conninfo: String?
  /// The name shown in `pg_stat_activity`, unless the connection string or `PGAPPNAME` has another.
  public var applicationName: String?
  /// How long connecting may take, name resolution and the TLS handshake included.
  public var connectTimeout: Duration
  /// The deadline of a call that gives none.
  public var defaultDeadline: Duration
  /// How long a call whose deadline has passed waits for the server to obey the cancellation, before
  /// the connection is dropped.
  public var cancelGrace: Duration
  /// What a server has to prove.
  public var serverProof: ServerProof
  /// Where statements look for names, whatever the role, the database or a pooler has set; nil for the session's own path.
  /// It holds for each statement or transaction anew, so it works through a pooler. A statement that says the schema of every
  /// name needs none and is sent as it is. Statements of a pipeline that is no transaction have to be of that kind, and rows
  /// are streamed within a transaction.
  public var searchPath: String?
  /// What the server's sessions have to have set.
  public var settings: [SessionSetting] = []
  /// Whether the server keeps statements that come again and again parsed. Before the first, a connection asks whether
  /// the server's session is its own, which is a statement more.
  public var keepsStatements = true
  /// More libpq keywords; they win over the connection string.
  public var keywords: [String: String]
  /// Is given the server's notices and warnings, on the loop's thread; nil drops them.
  public var onNotice: (@Sendable (Notice) -> Void)?
  /// Is told of each attempt to connect when it has ended, with the reason when it failed; for counting.
  public var onConnect: (@Sendable (PostgreSQLError?) -> Void)?

  /// A configuration; see the properties for what each part means.
  public init(
    _ conninfo: String? = nil, applicationName: String? = nil, connectTimeout: Duration = .seconds(10),
    defaultDeadline: Duration = .seconds(30), cancelGrace: Duration = .seconds(2),
    serverProof: ServerProof = .verified, keywords: [String: String] = [:],
    onNotice: (@Sendable (Notice) -> Void)? = nil
  ) {
    self.conninfo = conninfo
    self.applicationName = applicationName
    self.connectTimeout = connectTimeout
    self.defaultDeadline = defaultDeadline
    self.cancelGrace = cancelGrace
    self.serverProof = serverProof
    self.keywords = keywords
    self.onNotice = onNotice
  }

  /// The server's own names and no others; for ``searchPath``.
  public static let catalogOnly = "pg_catalog, pg_temp"

  /// As a server sets it by itself: statements mean what they say, functions of the schema see what others commit, and
  /// warnings are heard; for ``settings``.
  public static let plainSession = [
    SessionSetting("default_transaction_isolation", "read committed"), SessionSetting("row_security", "on"),
    SessionSetting("standard_conforming_strings", "on"), SessionSetting("array_nulls", "on"),
    SessionSetting("transform_null_equals", "off"), SessionSetting("quote_all_identifiers", "off"),
    SessionSetting("IntervalStyle", "postgres"),
    SessionSetting("client_min_messages", "notice", or: ["warning", "info"]),
  ]

  /// The keywords in the order in which libpq is to read them: a later one wins.
  var parameters: [(keyword: String, value: String)] {
    var list: [(keyword: String, value: String)] = []
    if let conninfo { list.append(("dbname", conninfo)) }
    if let applicationName { list.append(("fallback_application_name", applicationName)) }
    for (keyword, value) in keywords.sorted(by: { $0.key < $1.key }) { list.append((keyword, value)) }
    list.append(("client_encoding", "UTF8"))
    return list
  }
}

/// What a server has to prove before anything is sent to it.
public enum ServerProof: String, Sendable, CaseIterable {
  /// Its identity, by a certificate of a trusted authority in its own name (libpq's `sslmode=verify-full`). Where the
  /// connection string leaves the mode open it becomes this; a weaker one that it names is refused. On this machine a
  /// socket has to be of a trusted user, and a server on the loopback that gets a password has to know it (SCRAM).
  case verified
  /// What the connection string asks for and no more: without a mode, libpq takes any certificate and also none.
  case asGiven = "as-given"
}

/// A notice or warning that the server sent beside its answers.
public struct Notice: Sendable, Equatable {
  /// `NOTICE`, `WARNING` and so on, in English whatever the server's language.
  public let severity: String
  /// The five-character code, `00000` for a plain notice.
  public let sqlState: String
  /// The text, as the server or `RAISE` worded it.
  public let message: String
}
