import EventLoop
import PostgreSQL
import TestSupport

/// A connection to a database of the test's own.
func withConnection<R>(
  _ change: (inout ConnectionConfiguration) -> Void = { _ in },
  _ body: (Connection) async throws -> R
) async throws -> R {
  try await withTestDatabase { database in
    var configuration = database.configuration
    // A server on a busy machine may take its time to obey a cancellation.
    configuration.cancelGrace = patience
    change(&configuration)
    let connection = try await Connection.connect(configuration, on: try EventLoop())
    let outcome: Result<R, any Error>
    do { outcome = .success(try await body(connection)) } catch { outcome = .failure(error) }
    await connection.close()
    return try outcome.get()
  }
}

/// What the body threw, if it was this module's error.
func error<R>(of body: () async throws -> R) async -> PostgreSQLError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? PostgreSQLError
  }
}

/// Returns when the backend is running a statement with these words in it.
func waitUntilRunning(_ words: String, on pid: Int32, _ observer: Connection) async throws {
  while true {
    let count = try await observer.query(
      """
      SELECT count(*) FROM pg_stat_activity
      WHERE pid = $1 AND state = 'active' AND query LIKE '%' || $2 || '%'
      """, [.int32(pid), .text(words)])
    if try count.single().int(0) == 1 { return }
    await Task.yield()
  }
}
