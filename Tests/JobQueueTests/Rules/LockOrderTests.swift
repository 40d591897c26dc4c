import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

/// A test holds the first row of the order: who waits for it must not have locked a later one.
@Suite("Calls that change the same rows lock them in one order, so that they wait and never deadlock")
struct LockOrderTests {
  /// Whether the rows of a query can be locked without a wait.
  private func isFree(_ rows: String, _ queue: QueueFixture) async throws -> Bool {
    do {
      return try await queue.numbers("\(rows) FOR UPDATE NOWAIT").count == 1
    } catch let error as PostgreSQLError where error.sqlState == "55P03" {
      return false
    }
  }

  /// Runs a call while a transaction holds what a script has locked; the body runs when the call waits for it.
  private func whileWaiting(
    _ queue: QueueFixture, for script: String, _ call: @escaping @Sendable () async throws -> Void,
    then body: () async throws -> Void
  ) async throws {
    try await queue.pool.withConnection { (connection) async throws in
      try await connection.execute(script: "BEGIN; \(script)")
      async let called: Void = call()
      try await queue.untilSomebodyWaits()
      try await body()
      try await connection.execute(script: "ROLLBACK")
      try await called
    }
  }

  @Test(
    "an event before its webhook",
    arguments: [
      "finish_deliveries(0::smallint, sha256('1'), ARRAY[%]::bigint[], '{failed}', '{NULL}', '{NULL}')",
      "remove_webhook(1)", "replay_webhook(1, '2000-01-01', NULL, NULL, false)",
      "erase_user(0::smallint, 'ann', NULL, true)",
    ])
  func deliveries(call: String) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      try await queue.execute(
        """
        SELECT analysis.add_webhook(0::smallint, 'ann', NULL, 'https://r.example.org/', decode(repeat('07', 150), 'hex'),
          false, false)
        """)
      _ = try await queue.create([Ask("ann")])
      _ = try await queue.complete(try await queue.claim())
      let event = try await queue.number(
        "SELECT o_event FROM analysis.claim_deliveries(0::smallint, sha256('1'), '{}', 10, 10)")
      let isOfWorker = call.hasPrefix("finish")
      // What is being delivered is left alone by a replay, so it is long over.
      if !isOfWorker { try await queue.execute("UPDATE analysis.webhook_event SET due_at = '2000-01-01'") }
      let name = call.prefix { $0 != "(" }
      try await queue.execute("ALTER FUNCTION analysis.\(name) SET lock_timeout = '300s'")
      let sql = "SELECT * FROM analysis.\(call.replacing("%", with: "\(event)"))"
      try await whileWaiting(queue, for: "SELECT FROM analysis.webhook_event FOR UPDATE") { () async throws in
        _ = try await queue.pool.query(sql)
      } then: { () async throws in
        #expect(try await isFree("SELECT id FROM analysis.webhook", queue), "\(name)")
      }
    }
  }

  @Test("leases by their numbers, in whatever order a worker names them")
  func leases() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      let jobs = try await queue.create([Ask("ann", image: "1"), Ask("ann", image: "2")])
      for lease in [100, 200] { _ = try await queue.claim(1, lease: Int64(lease)) }
      let held = try await queue.numbers("SELECT id FROM analysis.lease ORDER BY id").map(Int64.init)
      try #require(held.count == 2)
      let first = try await queue.number("SELECT job_ids[1] FROM analysis.lease WHERE id = \(held[0])")
      let named = jobs.sorted { a, _ in a != Int64(first) }
      try await queue.execute("ALTER FUNCTION analysis.complete SET lock_timeout = '300s'")
      let row = "SELECT id FROM analysis.lease WHERE id = "
      try await whileWaiting(queue, for: "\(row)\(held[0]) FOR UPDATE") { () async throws in
        let stored = try await queue.complete(named, leases: held.reversed())
        #expect(stored == Set(jobs))
      } then: { () async throws in
        #expect(try await isFree("\(row)\(held[1])", queue))
      }
    }
  }

  @Test("results by the numbers of their jobs, as a cancellation does")
  func results() async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      let jobs = try await queue.create([Ask("ann", image: "1"), Ask("ann", image: "2")]).sorted()
      let lease = try await queue.claim(2)[0].lease
      try await queue.execute("ALTER FUNCTION analysis.complete SET lock_timeout = '300s'")
      try await whileWaiting(queue, for: "SELECT analysis.cancel(0::smallint, ARRAY[\(jobs[0])]::bigint[])") {
        () async throws in
        #expect(try await queue.complete(jobs.reversed(), leases: [lease]) == [jobs[0]])
      } then: { () async throws in
        // The second is not held yet.
        #expect(try await queue.cancel([jobs[1]]) == [jobs[1]: "cancelled"])
      }
    }
  }
}
