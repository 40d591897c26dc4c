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
    _ queue: QueueFixture, for script: String, of holder: LockHolder = .idle,
    _ call: @escaping @Sendable () async throws -> Void, then body: () async throws -> Void
  ) async throws {
    try await queue.pool.withConnection { (connection) async throws in
      try await connection.execute(script: "BEGIN; \(script)")
      async let called: Void = call()
      try await queue.untilSomebodyWaits()
      try await holder.stays(connection, in: queue) { try await body() }
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

  @Test("a part of an erasure the dead before the jobs", arguments: LockHolder.allCases)
  func erasurePart(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      let dead = try await queue.deadJob("ann")
      let jobs = try await queue.create((1...3).map { Ask("ann", image: "\($0)") }) + [dead]
      try await queue.execute("ALTER FUNCTION analysis.erase_part SET lock_timeout = '300s'")
      try await queue.execute("ALTER FUNCTION analysis.cancel SET lock_timeout = '300s'")
      try await whileWaiting(queue, for: "SELECT FROM analysis.dead FOR UPDATE", of: holder) {
        () async throws in
        let part = try await queue.pool.query(
          "SELECT o_cancelled FROM analysis.erase_part(0::smallint, 'ann', NULL, true, NULL, NULL, 3)"
        ).single()
        #expect(try part.int(0) == 2)
      } then: { () async throws in
        for job in jobs {
          #expect(try await isFree("SELECT id FROM analysis.job WHERE id = \(job)", queue), "\(job)")
        }
      }
    }
  }

  @Test(
    "and the second look of a cancellation, which has jobs of higher numbers, waits for nobody",
    arguments: LockHolder.allCases)
  func secondLook(holder: LockHolder) async throws {
    try await withCheckedQueue { (queue) async throws in
      for user in ["ann", "bob"] { try await queue.addUser(user) }
      try await queue.execute("ALTER FUNCTION analysis.cancel SET lock_timeout = '300s'")
      try await queue.pool.withConnection { (first) async throws in
        // The lower job is not committed while the first look waits for the higher one, and is held in the second.
        try await first.execute(script: "BEGIN")
        let lower = try await queue.submit([Ask("ann")], on: first)[0].job ?? 0
        let higher = try await queue.create([Ask("bob")])[0]
        try #require(lower < higher)
        try await queue.pool.withConnection { (second) async throws in
          try await second.execute(
            script: "BEGIN; SELECT FROM analysis.job WHERE id = \(higher) FOR UPDATE")
          let cancelled = Task { try await queue.cancel([lower, higher]) }
          try await queue.untilSomebodyWaits()
          try await first.execute(
            script: "COMMIT; BEGIN; SELECT FROM analysis.job WHERE id = \(lower) FOR UPDATE")
          try await holder.stays(first, in: queue) { () async throws in
            try await second.execute(script: "ROLLBACK")
            #expect(try await cancelled.value == [lower: "busy", higher: "cancelled"])
          }
          try await first.execute(script: "ROLLBACK")
        }
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

  @Test(
    "the months of their jobs alone, so that the index of an old month is made beside them",
    arguments: [
      "cancel(0::smallint, ARRAY[%])", "retry_dead(0::smallint, ARRAY[%])", "uncancel(0::smallint, ARRAY[%])",
      "promote(0::smallint, 100)", "rescue(0::smallint, 100, 0)",
      "release(0::smallint, sha256('1'), ARRAY[&], ARRAY[%], 0)",
      "fail(0::smallint, sha256('1'), ARRAY[&], ARRAY[%], '{0}', '{true}', '{server}', NULL, '{no}', NULL, NULL, '{1}', '{false}', NULL)",
      "remove_jobs(0::smallint, analysis.period_of(now(), 'UTC'), ARRAY[%])",
      "erase_user(0::smallint, 'ann', NULL, true)",
    ] as [String])
  func months(call: String) async throws {
    try await withQueue { (queue) async throws in
      try await queue.addUser("ann")
      let job = try await queue.create([Ask("ann", key: "key")])[0]
      let name = call.prefix { $0 != "(" }
      var lease: Int64 = 0
      switch name {
      case "uncancel": _ = try await queue.cancel([job])
      case "cancel", "remove_jobs", "erase_user": break
      default:
        lease = try await queue.claim(1)[0].lease
        if name == "retry_dead" { _ = try await queue.fail([job], leases: [lease], delay: nil) }
        if name == "promote" { _ = try await queue.fail([job], leases: [lease], delay: 60_000) }
        try await queue.execute("UPDATE analysis.scheduled SET run_at = '2000-01-01'")
        if name == "rescue" { try await queue.expireLeases() }
      }
      let sql = call.replacing("%", with: "\(job)::bigint").replacing("&", with: "\(lease)::bigint")
      try await queue.pool.transaction { (open) async throws in
        _ = try await open.query("SELECT * FROM analysis.\(sql)")
        let months = try await open.query(
          """
          SELECT l.relation::regclass::text FROM pg_locks l
          JOIN pg_inherits i ON i.inhrelid = l.relation AND i.inhparent = 'analysis.job'::regclass
          WHERE l.pid = pg_backend_pid() AND l.mode = 'RowExclusiveLock'
          """
        ).map { try $0.string(0) }
        let present = try await queue.number("SELECT analysis.period_of(now(), 'UTC')")
        #expect(months == ["analysis.job_p\(present)"])
        #expect(
          try await queue.text(
            "SELECT analysis.index_images((\(present) - 1)::smallint, '2099-01-01Z')::text")
            == "true")
      }
    }
  }

  @Test("no month whose jobs somebody changes: its index is made another time, and nobody waits for that")
  func index() async throws {
    try await withQueue { (queue) async throws in
      let past = try await queue.number("SELECT analysis.period_of(now(), 'UTC')") - 1
      try await queue.pool.transaction { (open) async throws in
        _ = try await open.query("LOCK TABLE analysis.job_p\(past) IN ROW EXCLUSIVE MODE")
        let error = await #expect(throws: PostgreSQLError.self) {
          try await queue.execute("SELECT analysis.index_images(\(past)::smallint, '2099-01-01Z')")
        }
        #expect(error?.sqlState == "55P03")
        #expect(error?.message.contains("could not obtain lock") == true, "it has not waited")
      }
    }
  }
}
