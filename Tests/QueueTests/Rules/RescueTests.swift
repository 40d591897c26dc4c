import PostgreSQL
import QueueTestSupport
import Testing

@Suite("Rescue")
struct RescueTests {
  @Test("A job is lost twice at no cost, then runs alone, and only then consumes attempts until it is dead")
  func losses() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 3, maxAttempts: 2)

      // First and second loss of the whole lease.
      #expect(try await queue.claim().map(\.lane) == [5, 5, 5])
      try await queue.expireLeases()
      #expect(try await queue.rescue() == [1, 3, 0])
      #expect(try await queue.numbers("SELECT DISTINCT lane * 1000 + tries FROM analysis.ready") == [5256])
      #expect(try await queue.claim().map(\.attempt) == [1, 1, 1])
      try await queue.expireLeases()
      #expect(try await queue.rescue() == [1, 3, 0])
      #expect(try await queue.numbers("SELECT DISTINCT lane * 1000 + tries FROM analysis.ready") == [7512])

      // As quarantined jobs they come one at a time, whatever the limit.
      let first = try await queue.claim()
      #expect(first.count == 1)
      #expect(first[0].attempt == 1)
      try await queue.expireLeases()
      #expect(try await queue.rescue() == [1, 1, 0])
      #expect(try await queue.numbers("SELECT lane * 1000 + tries FROM analysis.scheduled") == [7513])

      // Lost alone for the second time: out of attempts.
      try await queue.execute("UPDATE analysis.scheduled SET run_at = '-infinity'")
      #expect(try await queue.promote() == 1)
      var killed: Int64?
      for lease in [1000, 2000, 3000] as [Int64] {
        let claimed = try await queue.claim(1, lease: lease)
        #expect(claimed.count == 1)
        if claimed[0].attempt == 2 { killed = claimed[0].job }
      }
      #expect(killed == first[0].job)
      try await queue.expireLeases()
      #expect(try await queue.rescue() == [3, 2, 1])
      #expect(try await queue.texts("SELECT class FROM analysis.dead") == ["worker_lost"])
      #expect(try await queue.numbers("SELECT attempts FROM analysis.dead") == [2])
      #expect(try await queue.usage("user").used == 2)
      // Every loss is in the history; those in company consumed nothing.
      let history = try await queue.texts(
        """
        SELECT attempt || CASE WHEN consumed THEN ' consumed' ELSE '' END FROM analysis.attempts_of(0::smallint, $1)
        """, [.int64(killed)])
      #expect(history == ["1", "1", "1 consumed", "2 consumed"])
      #expect(Set(jobs).contains(killed ?? 0))
    }
  }

  @Test("A job in quarantine stays there until it ends, whatever is answered", arguments: [true, false])
  func quarantineLasts(consumes: Bool) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user", priority: 0)])[0]
      for lease in [10, 20] as [Int64] {
        _ = try await queue.claim(lease: lease)
        try await queue.expireLeases()
        _ = try await queue.rescue()
      }
      let alone = try await queue.claim(lanes: [7])
      #expect(
        try await queue.fail([job], leases: [alone[0].lease], delay: 0, consumes: consumes) == [
          job: "retried"
        ])
      let place = try await queue.numbers("SELECT lane * 1000 + tries FROM analysis.ready")
      #expect(place == [7512 + (consumes ? 1 : 0)])
      // Again after a delay.
      let again = try await queue.claim(lease: 30, lanes: [7])
      _ = try await queue.fail([job], leases: [again[0].lease], delay: 60_000, consumes: consumes)
      try await queue.execute("UPDATE analysis.scheduled SET run_at = '-infinity'")
      #expect(try await queue.promote() == 1)
      #expect(try await queue.numbers("SELECT lane FROM analysis.ready") == [7])
    }
  }

  @Test("A loss is not forgotten by an answer in between: the second one leads into quarantine")
  func lossesStay() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user")])[0]
      _ = try await queue.claim(lease: 10)
      try await queue.expireLeases()
      _ = try await queue.rescue()
      let second = try await queue.claim(lease: 20)
      _ = try await queue.fail([job], leases: [second[0].lease], delay: 0, consumes: false)
      #expect(try await queue.numbers("SELECT lane * 1000 + tries FROM analysis.ready") == [5256])
      _ = try await queue.claim(lease: 30)
      try await queue.expireLeases()
      _ = try await queue.rescue()
      #expect(try await queue.numbers("SELECT lane * 1000 + tries FROM analysis.ready") == [7512])
    }
  }

  @Test("A deadline from before the server's clock was set back is drawn near")
  func clockSetBack() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create(Ask("user") * 2)
      for lease in [10, 20] as [Int64] { _ = try await queue.claim(1, lease: lease, leaseDuration: 600_000) }
      try await queue.execute("UPDATE analysis.lease SET deadline = deadline + interval '1 hour'")
      #expect(try await queue.rescue() == [0, 0, 0])
      #expect(
        try await queue.number(
          "SELECT count(*) FROM analysis.lease WHERE deadline <= clock_timestamp() + interval '10 minutes'")
          == 2)
      // The one whose worker lives is pushed on; of the other the lease runs out.
      #expect(try await queue.heartbeat([11], leaseDuration: 600_000) == [11])
      try await queue.execute("UPDATE analysis.lease SET deadline = '-infinity' WHERE id = 21")
      #expect(try await queue.rescue() == [1, 1, 0])
      #expect(try await queue.numbers("SELECT id FROM analysis.lease") == [11])
      // A turn that was taken before is due.
      try await queue.execute("SELECT analysis.take_turn(0::smallint, 'sweep', 5000)")
      try await queue.execute("UPDATE analysis.maintenance SET next_at = next_at + interval '1 hour'")
      #expect(
        try await queue.pool.query("SELECT analysis.take_turn(0::smallint, 'sweep', 5000)").single().bool(0))
    }
  }

  @Test("Of many lost leases those are rescued first whose deadline is oldest")
  func oldestFirst() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create(Ask("user") * 5)
      for lease in [10, 20, 30, 40, 50] as [Int64] { _ = try await queue.claim(1, lease: lease) }
      try await queue.execute(
        "UPDATE analysis.lease SET deadline = clock_timestamp() - interval '1 day' - id * interval '1 minute'"
      )
      #expect(try await queue.rescue(limit: 2)[0] == 2)
      #expect(try await queue.numbers("SELECT id FROM analysis.lease ORDER BY id") == [11, 21, 31])
    }
  }

  @Test("After a promotion every worker has a lease's time to say that it lives")
  func graceAfterPromotion() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create([Ask("user")])
      _ = try await queue.claim()
      try await queue.expireLeases()
      func rescue(grace: Int32) async throws -> Int {
        try await queue.number("SELECT o_leases FROM analysis.rescue(0::smallint, 10, $1)", [.int32(grace)])
      }
      // As if the server had written on another timeline until now, and had been up for longer than the grace.
      let uptime = try await queue.number(
        "SELECT (extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1000)::int")
      try await queue.execute("UPDATE analysis.gauge SET value = value - 1 WHERE name = 'timeline'")
      let grace = Int32(uptime) + 600_000
      #expect(try await rescue(grace: grace) == 0)
      try await queue.execute(
        "UPDATE analysis.gauge SET at = at - interval '1 hour' WHERE name = 'timeline'")
      #expect(try await rescue(grace: 0) == 1)
    }
  }

  @Test("A quarantined job that is released stays in quarantine, and consumes nothing")
  func quarantinedReleased() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let job = try await queue.create([Ask("user")])[0]
      for lease in [10, 20] as [Int64] {
        _ = try await queue.claim(lease: lease)
        try await queue.expireLeases()
        _ = try await queue.rescue()
      }
      let alone = try await queue.claim(lanes: [7])
      #expect(try await queue.release([job], leases: [alone[0].lease]) == [job])
      #expect(try await queue.numbers("SELECT lane * 1000 + tries FROM analysis.ready") == [7512])
    }
  }

  @Test("What was completed before the lease ran out is not queued again")
  func completedStays() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create(Ask("user") * 3)
      let claimed = try await queue.claim()
      _ = try await queue.complete([claimed[0].job], leases: [claimed[0].lease])
      // As if a job's result had been stored and the lease not been written.
      try await queue.execute(
        """
        UPDATE analysis.lease SET deadline = '-infinity', job_ids = job_ids || (SELECT job_id FROM analysis.result),
          periods = periods || periods[1], tries = tries || 0::smallint, user_ids = user_ids || user_ids[1]
        """)
      #expect(try await queue.rescue() == [1, 2, 0])
      #expect(try await queue.states()[claimed[0].job] == "succeeded")
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 2)
    }
  }

  @Test("A lease that is still running is left alone, and so is every lease just after the server's start")
  func notYet() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      _ = try await queue.create([Ask("user")])
      let claimed = try await queue.claim()
      #expect(try await queue.rescue() == [0, 0, 0])
      try await queue.expireLeases()
      // The server has been up for less than ten years.
      #expect(
        try await queue.number("SELECT o_leases FROM analysis.rescue(0::smallint, 10, 2000000000)") == 0)
      #expect(try await queue.heartbeat([claimed[0].lease]) == [claimed[0].lease])
      #expect(try await queue.rescue() == [0, 0, 0])
    }
  }

  @Test("A rescue passes over jobs that an open cancellation holds, and takes them the next time")
  func passesOver() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user")
      let jobs = try await queue.create(Ask("user") * 2)
      _ = try await queue.claim()
      try await queue.expireLeases()
      try await queue.pool.transaction { open in
        _ = try await queue.cancel([jobs[0]], on: open)
        #expect(try await queue.rescue() == [1, 1, 0])
        #expect(try await queue.number("SELECT cardinality(job_ids) FROM analysis.lease") == 1)
      }
      #expect(try await queue.rescue() == [1, 0, 0])
      #expect(try await queue.states() == [jobs[0]: "cancelled", jobs[1]: "waiting"])
    }
  }
}
