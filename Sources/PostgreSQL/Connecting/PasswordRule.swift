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
