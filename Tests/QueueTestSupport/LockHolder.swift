package import PostgreSQL
import TestSupport
import Testing

/// How somebody stays in a transaction. Time limits of the server end the one, and never the other.
package enum LockHolder: CaseIterable {
  case idle
  case active

  /// Runs what others do while a session's open transaction stays as it is; then the session can be used again.
  package func stays(
    _ connection: Connection, in queue: QueueFixture, _ others: () async throws -> Void
  ) async throws {
    guard self == .active else { return try await others() }
    try await connection.execute(script: "SET statement_timeout = 0")
    // Asked for: a pooler names another process as the connection's.
    let process = Parameter.int32(try await connection.query("SELECT pg_backend_pid()").single().int32(0))
    async let sleeping: Void = connection.execute(script: "SELECT pg_sleep(3600)", deadline: .seconds(3600))
    try await eventually("the session is in a statement") {
      try await queue.number(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'",
        [process]) == 1
    }
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await others()) } catch { outcome = .failure(error) }
    _ = try await queue.pool.query("SELECT pg_cancel_backend($1)", [process])
    do {
      try await sleeping
      Issue.record("the statement ended by itself")
    } catch let error as PostgreSQLError {
      #expect(error.sqlState == "57014")
    }
    try outcome.get()
  }
}
