import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Fair share")
struct FairShareTests {
  @Test("A has 1,000 waiting and 500 claimed, B submits one: B is next")
  func newcomer() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      try await queue.addUser("b")
      _ = try await queue.create(Ask("a") * 1500)
      var furthest: Int64 = 0
      for round in 0..<5 as Range<Int64> {
        furthest =
          try await queue.claim(100, lease: 100 + round * 10, from: furthest).map(\.virtualTime).max() ?? 0
      }
      #expect(furthest == 499_000)
      _ = try await queue.tick([5: furthest])
      let single = try await queue.create([Ask("b")])[0]
      #expect(try await queue.claim(1, lease: 900, from: furthest).map(\.job) == [single])
    }
  }

  @Test(
    "Where the clock lags behind the claims, the newcomer waits below the mark and is found from scan_from")
  func laggingClock() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      try await queue.addUser("b")
      _ = try await queue.create(Ask("a") * 300)
      let claimed = try await queue.claim(200)
      let mark = claimed.map(\.virtualTime).max() ?? 0
      // Nothing was published: B queues at zero, far below what was claimed.
      let single = try await queue.create([Ask("b")])[0]
      #expect(!(try await queue.claim(1, lease: 500, from: mark).map(\.job).contains(single)))
      // However often the mark is published, scan_from does not pass the job that waits.
      #expect(try await queue.tick([5: mark])[5] == 0)
      #expect(try await queue.tick([5: mark])[5] == 0)
      #expect(try await queue.claim(1, lease: 600, from: 0).map(\.job) == [single])
      #expect(try await queue.tick([5: mark])[5] == mark)
    }
  }

  @Test("Two users with many jobs each take turns, by their plans' costs")
  func turns() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      try await queue.addUser("b", plan: "free")
      try await queue.execute(
        """
        SELECT analysis.set_plan_limit('free', NULL, '-infinity');
        UPDATE analysis.plan SET cost = 3000 WHERE name = 'free'
        """)
      _ = try await queue.create(Ask("a") * 50)
      _ = try await queue.create(Ask("b") * 50)
      let claimed = try await queue.claim(40)
      let byUser = Dictionary(grouping: claimed, by: \.user).mapValues(\.count)
      #expect(byUser.values.sorted() == [10, 30])
    }
  }

  @Test("A user's own urgent job passes their normal ones, and takes no place in the other lane")
  func ownUrgentJob() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      _ = try await queue.create(Ask("a") * 200)
      let urgent = try await queue.create([Ask("a", priority: 0)])[0]
      #expect(try await queue.claim(1).map(\.job) == [urgent])
      let places = try await queue.texts(
        "SELECT lane || ' ' || last_vt FROM analysis.fair_share ORDER BY lane")
      #expect(
        places == [
          "4 1000", "5 200000",
        ])
    }
  }

  @Test("What a user cancelled counts no more: the next job of theirs passes what others submitted later")
  func cancelledPlaces() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      try await queue.addUser("b")
      let cancelled = try await queue.create(Ask("a") * 1000)
      _ = try await queue.cancel(cancelled)
      _ = try await queue.create(Ask("b") * 500)
      let next = try await queue.create([Ask("a")])[0]
      #expect(try await queue.claim(2).map(\.job).contains(next))
    }
  }

  @Test("Of cancelled jobs those that remain count, in a promoted source too", arguments: [false, true])
  func someCancelledPlaces(isPromoted: Bool) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      let at = try await queue.now(plus: 3600)
      func submit(_ count: Int) async throws -> [Int64] {
        let jobs = try await queue.create(Ask("a", at: isPromoted ? at : nil) * count)
        if isPromoted {
          try await queue.execute("UPDATE analysis.scheduled SET run_at = '-infinity'")
          _ = try await queue.promote()
        }
        return jobs
      }
      let jobs = try await submit(10)
      _ = try await queue.cancel(Array(jobs[3...]))
      let next = try await submit(1)[0]
      let row = try await queue.pool.query("SELECT vt FROM analysis.ready WHERE job_id = $1", [.int64(next)])
      #expect(try row.single().int(0) == 3000)
    }
  }

  @Test("What was given up is applied by the maintenance too, and passed over where a submit is open")
  func givenUpPlaces() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      try await queue.addUser("b")
      for user in ["a", "b"] { _ = try await queue.cancel(try await queue.create(Ask(user) * 3)) }
      try await queue.pool.transaction { open in
        _ = try await queue.submit([Ask("a")], on: open)
        _ = try await queue.applyRefunds()
        let left = try await queue.texts(
          "SELECT a.user_ref FROM analysis.freed_place p JOIN analysis.account a USING (shard, user_id)")
        #expect(left == ["a"])
      }
      _ = try await queue.applyRefunds()
      #expect(try await queue.number("SELECT count(*) FROM analysis.freed_place") == 0)
      let shares = try await queue.numbers("SELECT last_vt FROM analysis.fair_share ORDER BY user_id")
      #expect(shares == [1000, 0])
    }
  }

  @Test("Places go on over a month's end")
  func monthsEnd() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      _ = try await queue.create(Ask("a") * 3)
      // The month the three count in is over.
      try await queue.execute(
        """
        UPDATE analysis.usage SET period = (period - 1)::smallint;
        UPDATE analysis.job SET period = (period - 1)::smallint;
        UPDATE analysis.ready SET period = (period - 1)::smallint
        """)
      _ = try await queue.create([Ask("a")])
      #expect(try await queue.numbers("SELECT vt FROM analysis.ready ORDER BY vt") == [0, 1000, 2000, 3000])
    }
  }

  @Test("However far a worker says it has come, there is room behind it")
  func farMark() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      // What is not said moves nothing.
      try await queue.execute("SELECT analysis.tick(0::smallint, '{5,6}', '{NULL}')")
      #expect(try await queue.numbers("SELECT max(now_vt) FROM analysis.lane_clock") == [0])
      _ = try await queue.tick([5: .max])
      _ = try await queue.tick([5: .max])
      let jobs = try await queue.create(Ask("a") * 3)
      #expect(try await queue.claim(from: try await queue.tick([5: 0])[5] ?? 0).map(\.job) == jobs)
    }
  }

  @Test("Marks are published at most once a second, and scan_from is a mark of two seconds ago")
  func marks() async throws {
    try await withCheckedQueue { queue in
      func clock() async throws -> [Int] {
        let row = try await queue.pool.query("SELECT now_vt, staged, scan_from FROM analysis.lane_clock")
          .single()
        return [try row.int(0), try row.int(1), try row.int(2)]
      }
      #expect(try await queue.tick([5: 100]) == [5: 0])
      #expect(try await clock() == [100, 0, 0])
      // Within the second nothing is written; nothing ever goes back. On a busy machine that second is long.
      try await queue.execute("UPDATE analysis.lane_clock SET at = clock_timestamp() + interval '30 seconds'")
      #expect(try await queue.tick([5: 200], aged: false) == [5: 0])
      #expect(try await clock() == [100, 0, 0])
      // A second later the mark goes on; what is staged is not old enough.
      try await queue.execute(
        """
        UPDATE analysis.lane_clock SET at = '-infinity', staged_at = clock_timestamp() + interval '30 seconds'
        """)
      #expect(try await queue.tick([5: 300], aged: false) == [5: 0])
      #expect(try await clock() == [300, 0, 0])
      // Two seconds later the staged value becomes scan_from, and the mark is staged.
      #expect(try await queue.tick([5: 250]) == [5: 0])
      #expect(try await clock() == [300, 300, 0])
      #expect(try await queue.tick([5: 0]) == [5: 300])
      #expect(try await clock() == [300, 300, 300])
      #expect(try await queue.tick([4: 0, 5: 0]) == [4: 0, 5: 300])
    }
  }

  @Test("What is committed long after the marks passed it is found by the sweep")
  func sweep() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      try await queue.pool.transaction { open in
        _ = try await queue.submit([Ask("a")], on: open)
        for _ in 0..<3 { _ = try await queue.tick([5: 5000]) }
      }
      #expect(try await queue.tick([5: 0]) == [5: 5000])
      #expect(try await queue.claim(1, from: 5000).isEmpty)
      #expect(try await queue.number("SELECT analysis.sweep(0::smallint)") == 1)
      #expect(try await queue.tick([5: 0]) == [5: 0])
      #expect(try await queue.claim(1, from: 0).count == 1)
    }
  }

  @Test("Jobs that come back queue where the lane is, not where they were")
  func comeBack() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      let jobs = try await queue.create(Ask("a") * 3)
      let claimed = try await queue.claim()
      _ = try await queue.tick([5: 70_000])
      _ = try await queue.fail([jobs[0]], leases: [claimed[0].lease], delay: 0)
      _ = try await queue.release([jobs[1]], leases: [claimed[0].lease])
      try await queue.expireLeases()
      _ = try await queue.rescue()
      #expect(try await queue.numbers("SELECT vt FROM analysis.ready") == [70_000, 70_000, 70_000])
    }
  }

  @Test("Promoted jobs take places of a source of their own: retries of one user in numbers are spread")
  func promotion() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      try await queue.addUser("b")
      _ = try await queue.create(Ask("a") * 3)
      let claimed = try await queue.claim()
      _ = try await queue.fail(claimed.map(\.job), leases: [claimed[0].lease], delay: 60_000)
      _ = try await queue.create(Ask("b", at: try await queue.now(plus: 3600)) * 2)
      try await queue.execute("UPDATE analysis.scheduled SET run_at = '-infinity'")
      #expect(try await queue.promote() == 5)
      let queued = try await queue.numbers(
        "SELECT r.vt FROM analysis.ready r JOIN analysis.job j ON j.id = r.job_id ORDER BY j.user_id, r.vt")
      #expect(
        queued == [
          0, 1000, 2000, 0, 1000,
        ])
      #expect(
        try await queue.numbers("SELECT last_vt FROM analysis.fair_share WHERE source = 1 ORDER BY user_id")
          == [3000, 2000])
    }
  }

  @Test("A promotion does not wait for its user's open submit")
  func promotionNeverWaits() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("a")
      _ = try await queue.create([Ask("a", at: try await queue.now(plus: 3600))])
      try await queue.execute("UPDATE analysis.scheduled SET run_at = '-infinity'")
      try await queue.pool.transaction { open in
        _ = try await queue.submit([Ask("a")], on: open)
        #expect(try await queue.promote() == 1)
      }
      #expect(try await queue.claim().count == 2)
    }
  }
}
