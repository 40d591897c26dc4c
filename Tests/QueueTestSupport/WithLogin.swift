import EventLoop
package import PostgreSQL
import TestSupport

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
