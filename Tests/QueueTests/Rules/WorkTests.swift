import PostgreSQL
import QueueTestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("Which shards have work")
struct WorkTests {
  private static let shards: [Int16] = [0, 1, 2]
  private static let lane = Lane(.throat, .normal)

  private func look(
    _ queue: QueueFixture, lanes: [Lane] = [lane], all: Bool = false, late: Bool = false
  ) async throws -> [Int16: ShardWork] {
    try await ShardWork.statement(shards: Self.shards, lanes: lanes, all: all, late: late).run(on: queue.pool)
  }

  @Test("Only shards with something to do are named, each with the lanes in which jobs wait")
  func waiting() async throws {
    try await withCheckedQueue { queue in
      #expect(try await look(queue).isEmpty)
      try await queue.addUser("a")
      _ = try await queue.create(Ask("a") * 3)
      try await queue.execute(
        "INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id) VALUES (2, 9, 0, 1, 70, 1)")
      var expected = ShardWork()
      expected.waiting = [Self.lane: 0]
      #expect(try await look(queue) == [0: expected])
      let ear = Lane(.ear, .normal)
      let both = try await look(queue, lanes: [Self.lane, ear, Lane(.throat, .urgent)])
      #expect(both.mapValues(\.waiting) == [0: [Self.lane: 0], 2: [ear: 0]])
      try await queue.execute("DELETE FROM analysis.ready WHERE shard = 2")
    }
  }

  @Test(
    "What was committed below a scan mark is seen when late jobs are asked for, and after a sweep by everybody"
  )
  func late() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      try await queue.pool.transaction { open in
        _ = try await queue.submit([Ask("a")], on: open)
        for _ in 0..<3 { _ = try await queue.tick([5: 5000]) }
      }
      #expect(try await look(queue)[0] == nil)
      #expect(try await look(queue, late: true)[0]?.waiting == [Self.lane: 5000])
      #expect(try await queue.number("SELECT analysis.sweep(0::smallint)") == 1)
      #expect(try await look(queue)[0]?.waiting == [Self.lane: 0])
    }
  }

  @Test("A sweep lowers the marks of every lane of its shard, and of no other shard")
  func sweep() async throws {
    try await withCheckedQueue { queue in
      try await queue.execute(
        """
        INSERT INTO analysis.lane_clock (shard, lane, now_vt, scan_from, staged, staged_at, at)
        SELECT s, l, 900, 900, 900, now(), now() FROM generate_series(0, 1) s, generate_series(4, 11) l;
        INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
        SELECT s, l, 0, 1, l, 1 FROM generate_series(0, 1) s, generate_series(4, 11) l
        """)
      #expect(try await queue.number("SELECT analysis.sweep(0::smallint)") == 8)
      let marks = try await queue.texts(
        "SELECT shard || ':' || lane || ':' || scan_from FROM analysis.lane_clock ORDER BY shard, lane")
      #expect(marks == (4...11).map { "0:\($0):\($0)" } + (4...11).map { "1:\($0):900" })
      try await queue.execute("DELETE FROM analysis.ready")
    }
  }

  @Test(
    "Scheduled jobs, refunds, leases and marks are told of as long as there is something to do about them")
  func others() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a", plan: "free")
      let jobs = try await queue.create(Ask("a") * 3)
      let claimed = try await queue.claim(1)
      #expect(try await look(queue)[0]?.held == 0, "leases are asked for apart")
      #expect(try await look(queue, all: true)[0]?.held == 1)
      #expect(try await look(queue, lanes: [Lane(.ear, .normal)], all: true)[0]?.held == 0)
      #expect(try await look(queue, all: true)[0]?.hasLostLeases == false)
      try await queue.expireLeases()
      #expect(try await look(queue, all: true)[0]?.hasLostLeases == true)
      _ = try await queue.fail([claimed[0].job], leases: [claimed[0].lease], delay: 3_600_000)
      let next = try #require(try await look(queue)[0]?.nextRun)
      #expect(next > 0 && next <= 3600)
      #expect(try await look(queue)[0]?.isPromotionDue == false)
      try await queue.execute("UPDATE analysis.scheduled SET run_at = now() - interval '1 second'")
      #expect(try await look(queue)[0]?.isPromotionDue == true)
      #expect(try await look(queue)[0]?.owesRefunds == false)
      _ = try await queue.cancel(jobs)
      #expect(try await look(queue)[0]?.owesRefunds == true)
      #expect(try await queue.applyRefunds() > 0)
      #expect(try await look(queue)[0]?.owesRefunds != true)
      _ = try await queue.tick([5: 5000])
      #expect(try await look(queue)[0]?.movesMarks != true, "it was published a moment ago")
      try await queue.execute("UPDATE analysis.lane_clock SET at = '-infinity', staged_at = '-infinity'")
      #expect(try await look(queue)[0]?.movesMarks == true)
      for _ in 0..<2 { _ = try await queue.tick([5: 0]) }
      #expect(try await look(queue)[0]?.movesMarks != true)
    }
  }

  @Test(
    "While one user's counter and places are held, what the others are owed is applied, however much theirs is",
    arguments: LockHolder.allCases)
  func heldOwed(holder: LockHolder) async throws {
    try await withQueue { (queue) async throws in
      for user in ["a", "b"] { try await queue.addUser(user, plan: "free") }
      _ = try await queue.create([Ask("a"), Ask("a", image: "second")])
      let other = try await queue.create([Ask("b")])
      let first = "SELECT min(user_id) FROM analysis.account"
      // As many as are looked at at once, older than what the other is owed.
      try await queue.execute(
        """
        INSERT INTO analysis.refund (shard, period, user_id, job_id, reason, at)
        SELECT 0, u.period, u.user_id, i, 'cancelled', '-infinity' FROM analysis.usage u, generate_series(1, 100000) i
        WHERE u.user_id = (\(first));
        INSERT INTO analysis.freed_place (shard, lane, source, user_id, vt, later, at)
        SELECT 0, f.lane, f.source, f.user_id, 0, 0, '-infinity' FROM analysis.fair_share f, generate_series(1, 100000)
        WHERE f.user_id = (\(first))
        """)
      _ = try await queue.cancel(other)
      let owed = "user_id <> (\(first))"
      #expect(try await queue.count("refund WHERE \(owed)") == 1)
      #expect(try await queue.count("freed_place WHERE \(owed)") == 1)
      try await queue.pool.withConnection { (connection) async throws in
        try await connection.execute(
          script: """
            BEGIN; SELECT FROM analysis.usage WHERE user_id = (\(first)) FOR UPDATE;
            SELECT FROM analysis.fair_share WHERE user_id = (\(first)) FOR UPDATE
            """)
        try await holder.stays(connection, in: queue) { () async throws in
          #expect(try await queue.applyRefunds() == 1)
          #expect(try await queue.count("refund WHERE \(owed)") == 0)
          #expect(try await queue.count("freed_place WHERE \(owed)") == 0)
        }
        try await connection.execute(script: "ROLLBACK")
      }
    }
  }

  @Test("Semaphore are told of when they are due, those of the whole queue in the first shard alone")
  func turns() async throws {
    try await withCheckedQueue { queue in
      let all: Set<String> = ["sweep", "gauges", "partitions"]
      #expect(try await look(queue, all: true).mapValues(\.turns) == [0: all, 1: ["sweep"], 2: ["sweep"]])
      for (task, interval) in [("sweep", 60_000), ("gauges", 10_000)] {
        _ = try await queue.pool.query("SELECT analysis.take_turn(0::smallint, '\(task)', \(interval))")
      }
      #expect(
        try await look(queue, all: true).mapValues(\.turns) == [
          0: ["partitions"], 1: ["sweep"], 2: ["sweep"],
        ])
      #expect(try await look(queue).isEmpty, "turns are asked for apart")
    }
  }

  @Test("The question reads one entry a lane, however many jobs wait")
  func cost() async throws {
    try await withCheckedQueue(connections: 1) { queue in
      try await queue.execute(
        """
        INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
        SELECT s, l, 0, 1, g, g FROM generate_series(0, 2) s, generate_series(4, 11) l, generate_series(1, 500) g
        """)
      let lanes = AnalysisKind.allCases.flatMap(Lane.all(of:))
      let read = try await queue.pool.transaction { transaction in
        let found = try await ShardWork.statement(shards: Self.shards, lanes: lanes).run(on: transaction)
        #expect(found.values.map(\.waiting.count) == [8, 8, 8])
        return try await transaction.query(
          "SELECT pg_stat_get_xact_tuples_returned('analysis.ready_pkey'::regclass)::int"
        ).single().int(0)
      }
      #expect(read == 24, "\(read) entries")
      try await queue.execute("DELETE FROM analysis.ready")
    }
  }

  /// How many blocks of the tables of what is due and owed are read to ask for it and to take it.
  private func blocks(_ queue: QueueFixture) async throws -> Int {
    // With what the session has read before and the server has not added up yet.
    let fetched = """
      SELECT sum(pg_stat_get_xact_blocks_fetched(c.oid))::int
      FROM (SELECT t.oid FROM pg_class t WHERE t.oid IN (
              'analysis.scheduled'::regclass, 'analysis.refund'::regclass, 'analysis.freed_place'::regclass)
            UNION ALL
            SELECT i.indexrelid FROM pg_index i WHERE i.indrelid IN (
              'analysis.scheduled'::regclass, 'analysis.refund'::regclass, 'analysis.freed_place'::regclass)) c
      """
    return try await queue.pool.transaction { transaction in
      let before = try await transaction.query(SQLStatement(fetched)).single().int(0)
      _ = try await transaction.query(
        "SELECT * FROM analysis.work('{0}', '{4,5,6,7,8,9,10,11}', false, false)")
      _ = try await transaction.query("SELECT analysis.promote(0::smallint, 1000)")
      _ = try await transaction.query("SELECT analysis.apply_refunds(0::smallint, 1000)")
      return try await transaction.query(SQLStatement(fetched)).single().int(0) - before
    }
  }

  @Test("Under an old snapshot neither the question nor who takes what is due reads what was taken before")
  func oldSnapshot() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit()
      _ = try await queue.number("SELECT analysis.sweep(0::smallint)")
      try await queue.pool.withConnection { holder in
        try await holder.execute(
          script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM analysis.usage")
        let before = try await blocks(queue)
        try await queue.execute(
          """
          UPDATE analysis.usage SET used = used + 4000;
          INSERT INTO analysis.refund (shard, period, user_id, job_id, reason, at)
          SELECT 0, u.period, u.user_id, g, 'x', now() - interval '1 minute'
          FROM analysis.usage u, generate_series(1, 4000) g;
          INSERT INTO analysis.freed_place (shard, lane, source, later, user_id, vt, at)
          SELECT 0, 5, 0, 0, u.user_id, 0, now() - interval '1 minute'
          FROM analysis.usage u, generate_series(1, 4000) g;
          INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id, user_id)
          SELECT 0, 5, 0, u.period, now() - interval '1 minute', -g, u.user_id
          FROM analysis.usage u, generate_series(1, 4000) g
          """)
        while try await queue.applyRefunds() > 0 {}
        while try await queue.promote() > 0 {}
        #expect(try await queue.number("SELECT used FROM analysis.usage") == 1)
        // As if some seconds had passed.
        try await queue.execute("UPDATE analysis.scan_mark SET taken_at = taken_at - interval '30 seconds'")
        #expect(try await look(queue)[0]?.movesMarks == true)
        _ = try await queue.tick([5: 0], aged: false)
        #expect(try await look(queue)[0]?.movesMarks == false)
        let after = try await blocks(queue)
        #expect(after <= before + 20, "\(after) blocks, and \(before) before")
        try await holder.execute(script: "COMMIT")
      }
    }
  }

  @Test("What is due or owed and was committed late is found by a sweep; a mark that is to come is none")
  func lateMarks() async throws {
    try await withQueue { queue in
      try await queue.addUser("a", plan: "free")
      let jobs = try await queue.create(Ask("a") * 2)
      _ = try await queue.number("SELECT analysis.sweep(0::smallint)")
      let claimed = try await queue.claim(1)
      _ = try await queue.fail([claimed[0].job], leases: [claimed[0].lease], delay: 1)
      _ = try await queue.cancel(jobs.filter { $0 != claimed[0].job })
      try await queue.execute(
        """
        UPDATE analysis.scheduled SET run_at = now() - interval '1 hour';
        UPDATE analysis.refund SET at = now() - interval '1 hour';
        UPDATE analysis.freed_place SET at = now() - interval '1 hour';
        UPDATE analysis.scan_mark SET run_from = now() - interval '1 minute', owed_from = now() - interval '1 minute'
        """)
      #expect(try await look(queue)[0]?.isPromotionDue != true)
      #expect(try await look(queue, late: true)[0]?.owesRefunds == true)
      #expect(try await queue.promote() == 0)
      #expect(try await queue.applyRefunds() == 0)
      _ = try await queue.number("SELECT analysis.sweep(0::smallint)")
      #expect(try await look(queue)[0]?.isPromotionDue == true)
      try await queue.execute(
        """
        UPDATE analysis.scan_mark SET run_from = now() + interval '1 hour', owed_from = now() + interval '1 hour'
        """)
      #expect(try await queue.promote() == 1)
      #expect(try await queue.applyRefunds() == 1)
    }
  }
}
