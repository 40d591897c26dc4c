import EventLoop
package import PostgreSQL
package import TestSupport

/// Lends connections of a login that has roles of the installation, each by its name without the prefix.
///
/// - Parameter onNotice: Is given what the server says beside its answers.
package func withLogin<R>(
  _ name: String = "login", of roles: [String], in queue: QueueFixture,
  onNotice: (@Sendable (String) -> Void)? = nil, _ body: (ConnectionPool) async throws -> R
) async throws -> R {
  try await withLoginRole(on: queue.pool, named: name, in: roles.map { "analysis_\($0)" }) {
    (login) async throws in
    var configuration = queue.database.configuration
    configuration.keywords["user"] = login
    configuration.settings = HostileSettings.ofLogins
    if let onNotice { configuration.onNotice = { onNotice($0.message) } }
    let pool = ConnectionPool(configuration, on: queue.loop, size: 1)
    let outcome: Result<R, any Error>
    do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
    await pool.close()
    return try outcome.get()
  }
}

/// Lends a database, on a server of its own, whose logins have to give their password. So there are `operations`, `doctor`,
/// `auditor`, `stranger` without a role, and `trusted`, a clinician who is not asked for the password.
package func withPasswords(_ password: String, _ body: (QueueFixture, ServerCluster) async throws -> Void)
  async throws
{
  var options = ServerCluster.Options()
  options.access = ["local all postgres,trusted trust", "local all all scram-sha-256"]
  options.settings = ["log_statement": "all"]
  try await withServerCluster(options) { cluster in
    try await withQueue(on: cluster) { queue in
      for (login, role) in [
        ("operations", "operator"), ("doctor", "clinician"), ("auditor", "auditor"), ("trusted", "clinician"),
      ] {
        try await queue.execute("CREATE ROLE \(login) LOGIN IN ROLE analysis_\(role)")
      }
      try await queue.execute("CREATE ROLE stranger LOGIN")
      for login in ["operations", "doctor", "auditor", "trusted", "stranger"] {
        try await queue.setPassword(password, of: login)
      }
      try await body(queue, cluster)
    }
  }
}

extension QueueFixture {
  /// Gives a login a password, of which the server is sent the hash alone.
  package func setPassword(_ password: String, of login: String) async throws {
    let hash = try await pool.withConnection { try await $0.hash(ofPassword: password, for: login) }
    try await execute("ALTER ROLE \(login) PASSWORD '\(hash)'")
  }
}
