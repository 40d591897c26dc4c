internal import Clibpq
internal import Clinux
internal import Glibc

/// Where a password may come from: a file that its owner alone can read, as libpq finds it.
///
/// A command line is seen by everybody on the machine, an environment is handed on to every child and shown by many
/// tools, and configuration and service files are made to be read.
enum PasswordRule {
  /// - Throws: When a connection string holds a secret.
  static func check(conninfo settings: LibpqSettings) throws(PostgreSQLError) {
    if let keyword = settings.secrets.first {
      throw refusal("the connection string holds \(keyword)", keyword)
    }
  }

  /// - Throws: When the environment holds a password.
  static func checkEnvironment(_ variable: (_ name: String) -> String?) throws(PostgreSQLError) {
    guard let value = variable("PGPASSWORD"), !value.isEmpty else { return }
    throw refusal("the variable PGPASSWORD holds a password", "password")
  }

  /// - Parameters:
  ///   - settings: What libpq goes by; the connection string and the environment were looked at before.
  ///   - given: What the program itself has set: a secret among it is one that it has read.
  /// - Throws: When a service file holds a secret, or others can read the password file.
  static func check(_ settings: LibpqSettings, given: [String]) throws(PostgreSQLError) {
    if let keyword = settings.secrets.first(where: { !given.contains($0) }) {
      throw refusal("the service file holds \(keyword)", keyword)
    }
    // libpq 18 would write down the keys of the connection.
    if settings.values["sslkeylogfile"] != nil {
      throw refusal("the connection settings name sslkeylogfile, for keys of TLS", "sslkeylogfile")
    }
    if !given.contains("password"), let file = settings.values["passfile"] { try check(file: file) }
  }

  /// libpq says on standard error that it does not use such a file, and then asks the server without a password.
  private static func check(file: String) throws(PostgreSQLError) {
    var facts = stat()
    guard stat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_mode & 0o077 != 0 else {
      return
    }
    let mode = String(facts.st_mode & 0o777, radix: 8)
    var error = PostgreSQLError(
      .connectionFailed,
      "No connection: the password file \(file) has mode 0\(mode), by which others can read it, and is not used; run"
        + " 'chmod 600' on it.")
    error.phase = .passwordFile
    throw error
  }

  private static func refusal(_ what: String, _ keyword: String) -> PostgreSQLError {
    let instead =
      switch keyword {
      case "password":
        "Take it out, and put it into a password file of mode 0600: ~/.pgpass, or one that passfile= or PGPASSFILE"
          + " names, which may be a service credential."
      case "sslpassword": "Use a key without one, in a file of mode 0600 (sslkey=)."
      default: "Take it out."
      }
    var error = PostgreSQLError(
      .connectionFailed, "No connection: \(what), where others can read it. \(instead)")
    error.phase = .configuration
    return error
  }
}

/// What a server on this machine has to prove before it gets a password or anything else.
///
/// While the server is down any other login of the machine can listen in its place: on its port, or on its socket where
/// all may write into the folder. libpq gives whoever listens the password as it is, if that is what they ask for.
public struct LocalProof {
  /// What to do about a server that did not prove who it is.
  public static let advice =
    "See who listens there (ss -ltxp). On this machine a server that is given a password has to speak SCRAM (with libpq 15"
    + " over TLS), and a socket has to be of postgres, root, this login or whom requirepeer= names. --database-proof"
    + " as-given takes the server as it is."

  /// What there is to do before more is said.
  enum Verdict: Equatable {
    /// The server proves enough.
    case enough
    /// These settings have libpq demand it; the server has to be asked anew.
    case demands([String: String])
    /// It cannot prove it; why not.
    case refused(String)
  }

  let host: HostList.Host
  /// What libpq goes by.
  let settings: [String: String]
  /// Whether libpq has a password for it.
  let hasPassword: Bool
  /// Who listens at its socket, where it is one.
  let peer: uid_t?
  /// The version of libpq, such as 150004.
  var libpqVersion = Self.usedVersion

  /// The version of the libpq that is used.
  static var usedVersion: Int32 { PQlibVersion() }

  func verdict(trusted: (uid_t) -> Bool = LocalProof.isTrusted) -> Verdict {
    if host.isSocket { return socketVerdict(trusted) }
    // Another machine is asked for this before, see `HostList.verified`.
    if settings["sslmode"] == "verify-full" || !hasPassword { return .enough }
    if let methods = settings["require_auth"] {
      let areProofs = methods.split(separator: ",").allSatisfy { ["scram-sha-256", "gss"].contains($0) }
      return areProofs
        ? .enough : .refused("with require_auth=\(methods) whoever listens there can get the password")
    }
    if settings["channel_binding"] == "require" { return .enough }
    if libpqVersion >= 160_000 { return .demands(["require_auth": "scram-sha-256"]) }
    guard settings["sslmode"] != "disable", settings["channel_binding"] != "disable" else {
      return .refused("without TLS this libpq (15) gives the password to whoever listens there")
    }
    // Without `require_auth` it is TLS that binds the password's proof to the server.
    return .demands(["channel_binding": "require"])
  }

  private func socketVerdict(_ trusted: (uid_t) -> Bool) -> Verdict {
    // libpq itself looks whether it is the one who is named.
    guard settings["requirepeer"] == nil, let peer, !trusted(peer) else { return .enough }
    let who =
      peer == Self.unknown
      ? "65534, which is nobody or a user whom this user namespace does not know (PrivateUsers= of a unit)"
      : "\(peer)"
    return .refused("the user who listens there is \(who), not postgres, root or this login")
  }

  /// What the system gives for a user whom this process's user namespace does not have.
  private static let unknown: uid_t = 65534

  /// Whether a user may be the database server: root, postgres, or whoever runs this.
  static func isTrusted(_ user: uid_t) -> Bool {
    if user == 0 || user == geteuid() { return true }
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: 16384)
    guard getpwnam_r("postgres", &entry, &text, text.count, &found) == 0, found != nil else { return false }
    return entry.pw_uid == user
  }

  /// Who listens at the other end of a connected Unix socket.
  static func peer(of descriptor: Int32) -> uid_t? {
    uid_t(exactly: linux_peer_user(descriptor))
  }
}
