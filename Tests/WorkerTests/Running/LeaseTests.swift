import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support
@testable import Worker

@Suite("Leases and outages")
struct LeaseTests {
  @Test("An answer that comes after the lease was taken away stores nothing and counts as stale")
  func takenAway() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit()
      let gate = Gate()
      let backend = try Backend(holding: gate)
      // No heartbeat tells it before the answer comes.
      let worker = try Running(queue, [.throat: backend]) {
        $0.heartbeat = .seconds(3600)
        $0.leaseDuration = .seconds(3600)
        $0.rescueEvery = .seconds(3600)
      }
      try await eventually("a call") { backend.calls.count == 1 }
      _ = try await queue.pool.query("UPDATE analysis.lease SET id = id - 1")
      gate.open()
      try await eventually("the stale outcome") { worker.count("outcomes_stale") == 1 }
      worker.stop()
      let summary = try await worker.summary()
      #expect(summary.completed == 0 && summary.unstored == 0)
      #expect(try await queue.results == 0)
    }
  }

  @Test(
    "A worker gives three signs of life in a lease, and one every five seconds at least, or it is shown as lost",
    arguments: [
      (Duration.seconds(3), Duration.seconds(1)), (.seconds(15), .seconds(5)), (.seconds(3600), .seconds(5)),
    ])
  func heartbeat(lease: Duration, heartbeat: Duration) {
    var configuration = WorkerConfiguration(database: ConnectionConfiguration())
    configuration.hold(leases: lease)
    #expect(configuration.heartbeat == heartbeat)
  }

  @Test("A statement that waits for a lock longer than a lease costs no lease")
  func blockedHousekeeping() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(2)
      let gate = Gate()
      let backend = try Backend(holding: gate)
      let worker = try Running(queue, [.throat: backend]) { $0.leaseDuration = .seconds(10) }
      try await eventually("calls") { backend.calls.count == 2 }
      try await queue.pool.transaction { locked in
        // Rescue, promotion and claims wait for this one; the signs of life need neither.
        _ = try await locked.query("LOCK TABLE analysis.scheduled, analysis.ready IN ACCESS EXCLUSIVE MODE")
        try await eventually("a statement that waits") {
          try await queue.number(
            "SELECT count(*)::int FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
          ) > 0
        }
        let pushed = "SELECT (extract(epoch FROM max(deadline)) * 1000)::bigint FROM analysis.lease"
        let before = try await queue.pool.query(pushed).single().int64(0)
        try await eventually("leases pushed on by more than one lease") {
          try await queue.pool.query(pushed).single().int64(0) > before + 10_500
        }
      }
      gate.open()
      gate.open()
      worker.stop()
      let summary = try await worker.summary()
      #expect(summary.completed == 2 && worker.count("leases_lost") == 0)
      try await queue.expectSound()
    }
  }

  @Test("A lease that was lost is noticed at the heartbeat: what waited is let go, and runs elsewhere")
  func noticed() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(8)
      let gate = Gate()
      let backend = try Backend { call in
        if call.number <= 2 { gate.wait() }
        return .analysis(call)
      }
      let worker = try Running(queue, [.throat: backend]) {
        $0.concurrency = 2
        $0.prefetch = 6
      }
      try await eventually("calls") { backend.calls.count == 2 }
      // As if the worker had been silent: rescue takes its leases, and the jobs are claimed anew.
      let held = try await queue.number("SELECT count(*)::int FROM analysis.lease")
      let silent = """
        UPDATE analysis.lease SET deadline = clock_timestamp() - interval '1 minute'
        WHERE id = ANY ('\(try await queue.text("SELECT array_agg(id)::text FROM analysis.lease"))')
        """
      try await eventually("the loss") {
        try await queue.execute(silent)
        _ = try await queue.pool.query("SELECT * FROM analysis.rescue(0::smallint, 10, 0)")
        return worker.count("leases_lost") >= held
      }
      for _ in 0..<2 { gate.open() }
      try await eventually("all results") { try await queue.results == 8 }
      // A call of the lost lease may be the last to end.
      try await eventually("what is refused") { worker.count("outcomes_stale") >= 2 }
      worker.stop()
      let summary = try await worker.summary()
      #expect(summary.unstored == 0)
      try await queue.expectSound()
    }
  }

  @Test("Every connection of the worker is ended again and again, and each job still finishes once")
  func terminated() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(300)
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend]) {
        $0.drainHorizon = .seconds(60)
        $0.listens = true
        $0.leaseDuration = .seconds(1)
      }
      for _ in 0..<8 {
        let before = try await queue.results
        _ = try await queue.pool.query(
          """
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = '\(Running.applicationName)'
          """)
        try await eventually("progress") {
          let now = try await queue.results
          return now > before || now == 300
        }
      }
      let summary = try await worker.summary()
      #expect(summary.dead == 0 && summary.unstored == 0 && summary.left == [])
      #expect(try await queue.results == 300)
      #expect(try await queue.number("SELECT sum(used)::int FROM analysis.usage") == 300)
      try await queue.expectSound()
    }
  }

  @Test("Quarantined jobs run one at a time")
  func quarantine() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(6)
      _ = try await queue.pool.query("UPDATE analysis.ready SET lane = 7, tries = 512")
      let backend = try Backend()
      let summary = try await Running.drain(queue, backend)
      #expect(summary.completed == 6)
      #expect(backend.mostOpen == 1)
      try await queue.expectSound()
    }
  }

  @Test("The next quarantined job follows as soon as the one before it has ended")
  func quarantineWithoutPolls() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(20)
      _ = try await queue.pool.query("UPDATE analysis.ready SET lane = 7, tries = 512")
      let backend = try Backend()
      // The queue is looked at once: nothing but the end of a job brings the next one.
      let worker = try Running(queue, [.throat: backend]) {
        $0.idlePoll = .seconds(3600)
        $0.promoteEvery = .seconds(3600)
      }
      try await eventually("all results") { try await queue.results == 20 }
      #expect(backend.mostOpen == 1)
      worker.stop()
      _ = try await worker.summary()
      try await queue.expectSound()
    }
  }

  @Test("Two workers share four shards; each job is called for once")
  func twoWorkers() async throws {
    try await withQueue(shards: 4) { queue in
      for shard in 0..<4 {
        for user in try await queue.addUsers(2, inShard: shard) { try await queue.submit(25, user: user) }
      }
      let backend = try Backend()
      let workers = try (0..<2).map { _ in
        try Running(queue, [.throat: backend]) { $0.drainHorizon = .seconds(60) }
      }
      var completed = 0
      for worker in workers {
        let summary = try await worker.summary()
        #expect(summary.left == [] && summary.dead == 0)
        completed += summary.completed
      }
      #expect(completed == 200)
      #expect(backend.calls.count == 200)
      #expect(Set(backend.calls.map { $0.request.headers["idempotency-key"] }).count == 200)
      #expect(try await queue.results == 200)
      try await queue.expectSound()
    }
  }

  @Test("A shard with a long queue does not hold up the others")
  func shardsInTurn() async throws {
    try await withQueue(shards: 4) { queue in
      let busy = try #require(try await queue.addUsers(1, inShard: 0).first)
      let quiet = try #require(try await queue.addUsers(1, inShard: 3).first)
      try await queue.submit(150, user: busy)
      let single = try #require(try await queue.submit(user: quiet).first)
      let gate = Gate()
      let backend = try Backend(holding: gate)
      let worker = try Running(queue, [.throat: backend]) {
        $0.concurrency = 2
        $0.prefetch = 20
        $0.drainHorizon = .seconds(60)
      }
      // One by one, so that there is never room for two claims in a row.
      var answered = 0
      while !backend.calls.contains(where: { $0.job == Int(single.value) }), answered < 151 {
        gate.open()
        answered += 1
        try await eventually("a result") { try await queue.results >= answered }
      }
      for _ in answered..<151 { gate.open() }
      // The first claim takes 22; the next one, made when three quarters of the prefetch are used, is the other shard's.
      #expect(answered < 60, "\(answered) jobs came first")
      #expect(try await worker.summary().completed == 151)
      try await queue.expectSound()
    }
  }

  @Test("A sweep lowers the published mark to a job that was committed behind it")
  func sweep() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(2)
      let gate = Gate()
      let backend = try Backend(holding: gate)
      let worker = try Running(queue, [.throat: backend]) {
        $0.concurrency = 1
        $0.prefetch = 0
        $0.drainHorizon = .seconds(60)
      }
      try await eventually("a call") { backend.calls.count == 1 }
      _ = try await queue.pool.query(
        """
        INSERT INTO analysis.lane_clock (shard, lane, now_vt, scan_from, staged, staged_at, at)
        VALUES (0, 5, 1000000000, 1000000000, 1000000000, clock_timestamp(), clock_timestamp())
        ON CONFLICT (shard, lane) DO UPDATE SET now_vt = 1000000000, scan_from = 1000000000, staged = 1000000000
        """)
      _ = try await queue.pool.query("DELETE FROM analysis.maintenance WHERE task = 'sweep'")
      try await eventually("the mark") {
        try await queue.number(
          """
          SELECT count(*)::int FROM analysis.lane_clock c JOIN analysis.ready r USING (shard, lane)
          WHERE c.scan_from <= r.vt
          """) == 1
      }
      for _ in 0..<2 { gate.open() }
      #expect(try await worker.summary().completed == 2)
      try await queue.expectSound()
    }
  }
}
