internal import Clibpq

extension Connection {
  /// What the server keeps of a login's password (SCRAM-SHA-256), made here so that the password itself is never sent.
  public func hash(ofPassword password: String, for login: String) throws(PostgreSQLError) -> String {
    guard let hash = wire.hash(ofPassword: password, for: login) else {
      throw PostgreSQLError(.misuse, "The password cannot be hashed: \(wire.failureText)")
    }
    return hash
  }
}
