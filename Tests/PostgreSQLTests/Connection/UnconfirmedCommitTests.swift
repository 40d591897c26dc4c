import EventLoop
import PostgreSQL
import TestSupport
import Testing

@Suite("A commit that waits for a synchronous standby in vain")
struct UnconfirmedCommitTests {
  @Test("is not told as done when its deadline passes, in any kind of call")
  func unconfirmed() async throws {
    try await withServerCluster { cluster in
      let loop = try EventLoop()
      let pool = ConnectionPool(
        ConnectionConfiguration(cluster.conninfo(), cancelGrace: patience), on: loop, size: 1)
      _ = try await pool.query("CREATE TABLE kept (n int)")
      _ = try await pool.query("CREATE TABLE tried (n int)")
      try await cluster.set(["synchronous_standby_names": "nobody"])
      // The server's processes take the new setting on one after the other: until a commit has waited, which is
      // told apart from a server that is only slow.
      while await error(of: {
        _ = try await pool.query("INSERT INTO tried VALUES (1)", deadline: .milliseconds(300))
      })?.mayHaveTakenEffect != true {}
      let calls: [(ConnectionPool, Duration) async throws -> Void] = [
        { _ = try await $0.query("INSERT INTO kept VALUES (1)", deadline: $1) },
        { pool, deadline in
          let results = try await pool.pipeline(
            [SQLStatement("INSERT INTO kept VALUES (2)")], deadline: deadline)
          for result in results { _ = try result.get() }
        },
        { pool, deadline in
          try await pool.transaction(deadline: deadline) { transaction in
            _ = try await transaction.query("INSERT INTO kept VALUES (3)")
          }
        },
      ]
      for call in calls {
        // Time enough to come to the commit on a busy machine; there it waits for ever.
        let failure = await error { try await call(pool, .seconds(5)) }
        #expect(failure?.code == .deadlineExceeded)
        #expect(failure?.mayHaveTakenEffect == true)
      }
      // This server alone has them.
      #expect(try await pool.query("SELECT count(*)::int FROM kept").single().int(0) == 3)
      await pool.close()
    }
  }
}
