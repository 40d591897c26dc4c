internal import Clibpq
internal import Clinux
internal import Glibc
public import Support

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
  /// Who logs in by which password, neither of them empty, in the place of whom all else names. The server has to ask for
  /// the password: one that lets the login in without it is refused.
  public var login: (name: String, password: Secret)?
  /// Is given the server's notices and warnings, on the loop's thread; nil drops them.
  public var onNotice: (@Sendable (Notice) -> Void)?
  /// Called with each attempt to connect when it has ended, with the reason when it failed; for counting.
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
    if let login {
      // libpq would look for a password that it takes for none in a file, which is of somebody else.
      list += [
        ("user", login.name), ("password", login.password.reveal()), ("passfile", "/dev/null"),
      ]
    }
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

/// Settings of a connection as libpq understood them, by their keywords; what is empty was not given.
struct LibpqSettings {
  let values: [String: String]
  /// The keywords of those that libpq itself counts as secrets.
  let secrets: [String]

  init(values: [String: String], secrets: [String] = []) {
    self.values = values
    self.secrets = secrets
  }

  /// What a connection that was begun goes by, from wherever it was taken; nil without memory.
  init?(of connection: OpaquePointer) {
    guard let options = PQconninfo(connection) else { return nil }
    defer { PQconninfoFree(options) }
    self.init(options)
  }

  /// What a connection string says.
  ///
  /// - Throws: When it cannot be read. What libpq quotes of it is left out.
  init(conninfo: String) throws(PostgreSQLError) {
    // A plain name is a database's, as everywhere in libpq.
    guard conninfo.contains("=") || conninfo.contains("://") else {
      self.init(values: ["dbname": conninfo])
      return
    }
    var message: UnsafeMutablePointer<CChar>?
    let options = PQconninfoParse(conninfo, &message)
    defer {
      PQconninfoFree(options)
      PQfreemem(message)
    }
    guard let options else {
      let message = message.map { String(cString: $0) } ?? "out of memory"
      var error = PostgreSQLError(
        .connectionFailed,
        "No connection: the connection string cannot be read: \(Redaction.withoutQuoted(message).trimmed).")
      error.phase = .configuration
      throw error
    }
    self.init(options)
  }

  private init(_ first: UnsafeMutablePointer<PQconninfoOption>) {
    var values: [String: String] = [:]
    var secrets: [String] = []
    var option = first
    while let keyword = option.pointee.keyword.map({ String(cString: $0) }) {
      let value = option.pointee.val.map { String(cString: $0) } ?? ""
      if !value.isEmpty {
        values[keyword] = value
        // So it marks what a dialogue has to hide.
        if option.pointee.dispchar.map({ String(cString: $0) }) == "*" { secrets.append(keyword) }
      }
      option += 1
    }
    self.init(values: values, secrets: secrets)
  }
}

/// A password file that the service manager hands over, as libpq takes it.
///
/// systemd lets the service's user read a credential by an access list, whose mask shows as the group's right to read;
/// libpq takes that for a file that others can read, and does not use it. So it is given a copy of mode 0600 in memory,
/// which goes with this object.
final class CredentialCopy {
  private static let largest = 65536
  private let file: String
  private let descriptor: Int32

  /// Where libpq finds it.
  var path: String { "/proc/self/fd/\(descriptor)" }

  /// - Returns: nil for what is no credential, or one that libpq takes as it is: a file in the folder of credentials
  ///   that the group may read, and nobody else.
  init?(of file: String, in folder: String) {
    self.file = file
    guard file.hasPrefix(folder + "/"), !file.dropFirst(folder.count + 1).contains("/") else { return nil }
    let source = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard source >= 0 else { return nil }
    defer { close(source) }
    var facts = stat()
    guard fstat(source, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_mode & 0o077 == 0o040,
      facts.st_size <= Self.largest
    else { return nil }
    descriptor = memfd_create("password file", linux_memfd_cloexec)
    guard descriptor >= 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
    guard fchmod(descriptor, 0o600) == 0, read(source, &bytes, bytes.count) == bytes.count,
      write(descriptor, bytes, bytes.count) == bytes.count
    else { return nil }
  }

  /// The error with the credential's own name: libpq says from which file a wrong password is.
  func named(in error: PostgreSQLError) -> PostgreSQLError {
    var error = error
    error.message = error.message.replacing(path, with: file)
    return error
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }
}
