import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Cancelling")
struct CancelTests {
  @Test("A waiting and a scheduled job are taken out and their units given back; twice is the same as once")
  func waiting() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create([
        Ask("user"), Ask("user", at: try await queue.now(plus: 3600)), Ask("user"),
      ])
      #expect(
        try await queue.cancel([jobs[0], jobs[1], 4711]) == [
          jobs[0]: "cancelled", jobs[1]: "cancelled", 4711: "unknown",
        ])
      #expect(try await queue.cancel([jobs[0], jobs[1]]) == [jobs[0]: "cancelled", jobs[1]: "cancelled"])
      #expect(try await queue.states() == [jobs[0]: "cancelled", jobs[1]: "cancelled", jobs[2]: "waiting"])
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 1)
      #expect(try await queue.number("SELECT count(*) FROM analysis.scheduled") == 0)
      #expect(try await queue.usage("user").used == 1)
      #expect(try await queue.claim().map(\.job) == [jobs[2]])
    }
  }

  @Test("A running job that is cancelled is not stored when it completes, and not tried again when it fails")
  func running() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 5)
      let claimed = try await queue.claim()
      let lease = claimed[0].lease
      #expect(try await queue.cancel(Array(jobs[..<4])).values.allSatisfy { $0 == "cancelled" })
      #expect(try await queue.complete([jobs[0], jobs[4]], leases: [lease]) == [jobs[4]])
      #expect(try await queue.fail([jobs[1]], leases: [lease], delay: 0) == [jobs[1]: "stale"])
      #expect(try await queue.release([jobs[2]], leases: [lease]) == [])
      try await queue.expireLeases()
      #expect(try await queue.rescue() == [1, 0, 0])
      #expect(try await queue.number("SELECT count(*) FROM analysis.lease") == 0)
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 0)
      #expect(try await queue.usage("user").used == 1)
    }
  }

  @Test(
    "Of one completion the cancelled jobs are left out, those named twice stored once, and the others stored")
  func mixedCompletion() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 6)
      let claimed = try await queue.claim()
      _ = try await queue.cancel([jobs[1], jobs[4]])
      let given = [jobs[5], jobs[1], jobs[0], jobs[0], jobs[4], jobs[3], jobs[5]]
      #expect(
        try await queue.complete(given, leases: [claimed[0].lease]) == [jobs[0], jobs[3], jobs[5]])
      #expect(try await queue.number("SELECT count(*) FROM analysis.result WHERE outcome = 1") == 3)
      #expect(try await queue.number("SELECT count(*) FROM analysis.result WHERE outcome = 2") == 2)
      #expect(
        try await queue.numbers("SELECT unnest(job_ids) FROM analysis.lease").map(Int64.init) == [jobs[2]])
    }
  }

  @Test("A job is taken out wherever it waits: promoted, failed, released, rescued, in quarantine")
  func wherever() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 4)
      let later = try await queue.create([Ask("user", at: try await queue.now(plus: 3600))])
      let lease = try await queue.claim()[0].lease
      // The lane has come far, so each comes back at another place than its first.
      _ = try await queue.tick([5: 50_000])
      _ = try await queue.fail([jobs[0]], leases: [lease], delay: 0)
      _ = try await queue.fail([jobs[1]], leases: [lease], delay: 60_000)
      _ = try await queue.release([jobs[2]], leases: [lease])
      try await queue.expireLeases()
      _ = try await queue.rescue()
      try await queue.execute("UPDATE analysis.scheduled SET run_at = '-infinity'")
      #expect(try await queue.promote() == 2)
      // Lost again, one job runs alone from now on.
      let lost = try await queue.claim(lease: 500)
      let others = lost.map(\.job).filter { $0 != jobs[3] }
      _ = try await queue.release(others, leases: [lost[0].lease])
      try await queue.expireLeases()
      _ = try await queue.rescue()
      #expect(try await queue.numbers("SELECT lane FROM analysis.ready ORDER BY lane") == [5, 5, 5, 5, 7])

      let all = jobs + later
      #expect(try await queue.cancel(all).values.allSatisfy { $0 == "cancelled" })
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 0)
      #expect(try await queue.number("SELECT count(*) FROM analysis.scheduled") == 0)
    }
  }

  @Test("A claim drops rows of cancelled jobs, says how far it came, and takes the job behind them")
  func dropped() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 3)
      // As a release before this one left them behind: in `ready`, where no cancellation of today leaves any.
      try await queue.execute(
        """
        WITH ids AS (
          SELECT nextval('analysis.job_id') AS id, g, analysis.period_of(now(), 'UTC') AS period
          FROM generate_series(1, 5000) g),
        jobs AS (
          INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
            max_attempts, image_unsanitized, image_mark, closed)
          SELECT 0, period, 1, 5, id, 0, 1, 0, now(), 1, period, 3, false, '', true FROM ids)
        INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id) SELECT 0, 5, 0, period, g, id FROM ids;
        UPDATE analysis.ready SET vt = 1000000 WHERE job_id = ANY ('{\(jobs.map(String.init).joined(separator: ","))}')
        """)
      var from = 0
      var taken: [Int] = []
      var claims = 0
      while taken.isEmpty, claims < 100 {
        claims += 1
        let rows = try await queue.pool.query(
          "SELECT o_job, o_vt FROM analysis.claim(0::smallint, sha256('1'), $1, '{5}', ARRAY[$2]::bigint[], '{2}', 2, 60000)",
          [.int64(Int64(claims * 10)), .int64(Int64(from))])
        for row in rows {
          if let job = try row.int64IfPresent(0) {
            taken.append(Int(job))
          } else {
            let reached = try row.int(1)
            #expect(reached >= from)
            from = reached
          }
        }
        // What was dropped stays dropped: nothing waits before the mark.
        #expect(try await queue.number("SELECT count(*) FROM analysis.ready WHERE vt < \(from)") == 0)
      }
      #expect(taken == jobs[..<2].map(Int.init))
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 1)
      try await queue.execute(
        """
        DELETE FROM analysis.job WHERE user_id = 0; UPDATE analysis.job SET vt = 1000000
        """)
    }
  }

  @Test("A job that an open retry moves is waited for, and is busy in the end", arguments: [true, false])
  func duringRetry(isClosedInTime: Bool) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 2)
      let lease = try await queue.claim()[0].lease
      _ = try await queue.fail([jobs[0]], leases: [lease], delay: nil)
      // Failed in the month before: the retry moves the job to this one.
      try await queue.execute(
        """
        SELECT analysis.ensure_partitions((analysis.period_of(now(), 'UTC') - 1)::smallint, analysis.period_of(now(), 'UTC'));
        UPDATE analysis.job SET period = (period - 1)::smallint WHERE id = \(jobs[0]);
        UPDATE analysis.dead SET period = (period - 1)::smallint;
        UPDATE analysis.refund SET period = (period - 1)::smallint;
        UPDATE analysis.attempt_error SET period = (period - 1)::smallint;
        INSERT INTO analysis.usage (shard, user_id, period, used) SELECT shard, user_id, (period - 1)::smallint, 1 FROM analysis.usage;
        UPDATE analysis.usage SET used = 1
        """)
      let outcome = try await withThrowingTaskGroup(of: [Int64: String].self) { group in
        try await queue.pool.transaction { open in
          _ = try await open.query("SELECT analysis.retry_dead(0::smallint, $1)", [.array([jobs[0]])])
          group.addTask { try await queue.cancel(jobs) }
          if isClosedInTime {
            try await queue.untilSomebodyWaits()
            return
          }
          let early = try await group.next()
          #expect(early == [jobs[0]: "busy", jobs[1]: "cancelled"])
        }
        return try await group.next()
      }
      if isClosedInTime {
        #expect(outcome == [jobs[0]: "cancelled", jobs[1]: "cancelled"])
        #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 0)
      } else {
        #expect(try await queue.states()[jobs[0]] == "waiting")
        #expect(try await queue.cancel([jobs[0]]) == [jobs[0]: "cancelled"])
      }
    }
  }

  @Test("A dead and a finished job stay what they are")
  func ended() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 2)
      let claimed = try await queue.claim()
      _ = try await queue.complete([jobs[0]], leases: [claimed[0].lease])
      _ = try await queue.fail([jobs[1]], leases: [claimed[0].lease], delay: nil)
      #expect(try await queue.cancel(jobs) == [jobs[0]: "finished", jobs[1]: "dead"])
      #expect(try await queue.usage("user").used == 1)
      #expect(try await queue.number("SELECT count(*) FROM analysis.refund") == 1)
    }
  }

  @Test("Cancel against complete: each job ends in exactly one of the two, and the units are right")
  func race() async throws {
    try await withCheckedQueue(connections: 4) { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 400)
      let claimed = try await queue.claim(400)
      #expect(claimed.count == 400)
      let lease = claimed[0].lease

      let (stored, cancelled) = try await withThrowingTaskGroup(of: (Set<Int64>, Set<Int64>).self) { group in
        for slice in stride(from: 0, to: 400, by: 40) {
          // The two go through the jobs in opposite orders, so that they meet.
          let mine = Array(jobs[slice..<(slice + 40)])
          group.addTask { (try await queue.complete(mine, leases: [lease]), []) }
          group.addTask {
            let outcomes = try await queue.cancel(mine.reversed())
            return ([], Set(outcomes.filter { $0.value == "cancelled" }.keys))
          }
        }
        return try await group.reduce(into: (Set<Int64>(), Set<Int64>())) {
          $0.0.formUnion($1.0)
          $0.1.formUnion($1.1)
        }
      }
      #expect(stored.isDisjoint(with: cancelled))
      #expect(stored.union(cancelled) == Set(jobs))
      #expect(try await queue.usage("user").used == stored.count)
      while try await queue.applyRefunds() > 0 {}
      #expect(
        try await queue.usage("user") == QueueFixture.Usage(used: stored.count, refunded: cancelled.count))
    }
  }

  @Test(
    "While a cancellation is open, a completion stores the other jobs and answers which are busy; a failure waits for nobody"
  )
  func open() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 6)
      let lease = try await queue.claim()[0].lease
      let busy = [jobs[1], jobs[3]]
      try await queue.pool.withConnection { open in
        try await open.execute(script: "BEGIN")
        _ = try await queue.cancel(busy, on: open)
        // Named twice beside, and one that had ended before.
        _ = try await queue.cancel([jobs[4]])
        let given = [jobs[3], jobs[0], jobs[1], jobs[0], jobs[4]]
        #expect(try await queue.complete(given, leases: [lease]) == [jobs[0]])
        #expect(try await queue.complete(busy, leases: [lease], knownBusy: true) == [])
        #expect(
          try await queue.fail([jobs[1], jobs[2]], leases: [lease], delay: 0) == [
            jobs[1]: "busy", jobs[2]: "retried",
          ])
        #expect(try await queue.release([jobs[3], jobs[5]], leases: [lease]) == [jobs[5]])
        #expect(try await queue.heartbeat([lease]) == [lease])
        #expect(
          try await queue.numbers("SELECT unnest(job_ids) FROM analysis.lease").map(Int64.init) == busy)
        try await open.execute(script: "ROLLBACK")
      }
      #expect(try await queue.complete(busy, leases: [lease], knownBusy: true) == Set(busy))
      #expect(try await queue.number("SELECT count(*) FROM analysis.lease") == 0)
    }
  }

  @Test("A cancellation that is rolled back leaves the running job to its completion, which waited for it")
  func rolledBack() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user")])[0]
      let claimed = try await queue.claim()
      let stored = try await withThrowingTaskGroup(of: Set<Int64>.self) { group in
        try await queue.pool.withConnection { connection in
          try await connection.execute(script: "BEGIN")
          #expect(try await queue.cancel([job], on: connection) == [job: "cancelled"])
          group.addTask { try await queue.complete(claimed) }
          try await queue.untilSomebodyWaits()
          try await connection.execute(script: "ROLLBACK")
        }
        return try await group.next()
      }
      #expect(stored == [job])
    }
  }
}
