import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The queue's status")
struct QueueStatusTests {
  @Test("counts what waits, runs, is scheduled and dead, and names the workers")
  func status() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(5)
      let claimed = try await queue.claimJobs(count: 3)
      let now = Double(try await queue.number("SELECT extract(epoch FROM now())::int"))
      try await queue.submit([queue.submission("clinic", 20, runAt: now + 3600)])
      let failed = FailedAttempt(
        lease: claimed[0].lease, job: claimed[0].id, decision: .dead, failureClass: .permanent,
        message: "Refused.")
      _ = try await queue.statements.fail([failed]).run(on: queue.pool)
      _ = try await queue.statements.heartbeat([1000], leaseDuration: .seconds(60), inFlight: 2).run(
        on: queue.pool)
      try await WorkerStatements.refreshGauges().run(on: queue.pool)

      let status = try await QueueStatus.read(queue.pool)
      #expect(status.lanes.count == 8)
      let lane = try #require(status.lanes.first { $0.lane == Lane(.throat, .normal) })
      #expect(lane.waiting == BoundedCount(2))
      #expect(lane.inFlight == 2)
      #expect(lane.oldestWaitingSeconds.map { $0 >= 0 } == true)
      #expect(status.waiting == BoundedCount(2))
      #expect(status.inFlight == 2)
      #expect(status.scheduled == BoundedCount(1))
      #expect(status.nextScheduledAt == now + 3600)
      #expect(status.dead == BoundedCount(1))
      #expect(status.pendingRefunds == BoundedCount(1))
      let worker = try #require(status.workers.first)
      #expect(status.workers.count == 1)
      let number = try await queue.number("SELECT analysis.worker_number(\(QueueFixture.workerSecret))")
      #expect(
        (Int(worker.id), worker.host, worker.pid, worker.version, worker.inFlight)
          == (number, "test", 1, "1.0", 2))
      #expect(status.gauges["database_bytes"].map { $0 > 0 } == true)
    }
  }

  @Test("stops counting at its bound")
  func bound() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(4)
      let exact = try await QueueStatus.read(queue.pool, bound: 4)
      #expect(exact.waiting.description == "4")
      let bounded = try await QueueStatus.read(queue.pool, bound: 3)
      #expect(bounded.waiting.description == "3+")
    }
  }

  @Test("counts every job once while jobs go from one place to the next")
  func moving() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(3)
      // What promotion does when jobs are due, and its opposite, as a retry does it.
      let park = """
        INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id, user_id)
        SELECT shard, lane, tries, period, now(), job_id, 1 FROM gone
        """
      let queueAgain = """
        INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
        SELECT shard, lane, tries, period, 0, job_id FROM gone
        """
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          while !Task.isCancelled {
            for (table, next) in [("ready", park), ("scheduled", queueAgain)] {
              _ = try await queue.pool.query(
                "WITH gone AS (DELETE FROM analysis.\(table) RETURNING *) \(next)")
            }
          }
        }
        for _ in 0..<200 {
          let status = try await QueueStatus.read(queue.pool)
          #expect(status.waiting.value + status.scheduled.value == 3)
        }
        group.cancelAll()
        do { try await group.waitForAll() } catch let error as PostgreSQLError where error.code == .cancelled
        {}
      }
    }
  }

  @Test("is what workers keep, with its age; and counted anew where nobody has kept it for ten seconds")
  func kept() async throws {
    try await withQueue(shards: 2) { queue async throws in
      try await queue.addUser("clinic")
      _ = try await queue.submit(4)
      try await WorkerStatements.refreshCounts(of: [0, 1]).run(on: queue.pool)
      // What nobody would count, to tell the two apart.
      try await queue.execute(
        """
        INSERT INTO analysis.worker (shard, id, host, pid, version, started_at, heartbeat_at, in_flight)
        SELECT s, 1, 'w', 1, '1', now(), now(), 0 FROM generate_series(0, 1) s;
        UPDATE analysis.lane_count SET waiting = 700000, is_exact = false, in_flight = 3,
          waiting_since = now() - interval '1 hour';
        UPDATE analysis.shard_count SET dead = 5, refunds = 10001, counted_at = now() WHERE shard = 0;
        DELETE FROM analysis.queue_history;
        INSERT INTO analysis.queue_history (step, at, waiting, in_flight, scheduled, done, dead, retried, rate)
        VALUES (10, now(), 0, 0, 0, 7000, 0, 0, 99)
        """)
      let kept = try await QueueStatus.read(queue.pool)
      #expect(kept.waiting == BoundedCount(700_000, isExact: false, isAbout: true))
      #expect(kept.waiting.description == "~700000" && kept.inFlight == 3)
      #expect(kept.dead == BoundedCount(5) && kept.pendingRefunds.description == "10000+")
      #expect(try #require(kept.oldestWaitingSeconds) >= 3600)
      #expect(try #require(kept.countedAgo) >= 0)
      #expect(kept.rates.tenSeconds == 99 && kept.rates.minute == 700)
      #expect(kept.emptyIn.map { $0.rounded() } == 1000)

      let old = "UPDATE analysis.shard_count SET counted_at = now() - interval '11 seconds'"
      try await queue.execute(old + " WHERE shard = 0")
      #expect(try await QueueStatus.read(queue.pool).countedAgo == nil, "not all of it is kept")
      try await queue.execute(old)
      let counted = try await QueueStatus.read(queue.pool)
      #expect(counted.waiting == BoundedCount(4) && counted.inFlight == 0)
      #expect(counted.dead == BoundedCount(0) && counted.countedAgo == nil)
    }
  }

  @Test("says of a job that was queued again that it waits since then, kept or counted")
  func again() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("ann")
      let dead = try await queue.deadJob("ann")
      let cancelled = try await queue.create([Ask("ann", image: "other")])[0]
      #expect(try await queue.cancel([cancelled]) == [cancelled: "cancelled"])
      try await queue.execute("UPDATE analysis.job SET created_at = created_at - interval '21 days'")
      #expect(try await queue.retryDead([dead]) == [dead: "requeued"])
      #expect(try await queue.uncancel([cancelled]) == [cancelled: "requeued"])
      let counted = try await QueueStatus.read(queue.pool)
      #expect(counted.waiting == BoundedCount(2) && counted.countedAgo == nil)
      #expect(try #require(counted.oldestWaitingSeconds) < 86_400)
      _ = try await queue.statements.heartbeat([], leaseDuration: .seconds(60), inFlight: 0).run(
        on: queue.pool)
      try await WorkerStatements.refreshCounts(of: [0]).run(on: queue.pool)
      let kept = try await QueueStatus.read(queue.pool)
      #expect(kept.waiting == BoundedCount(2) && kept.countedAgo != nil)
      #expect(try #require(kept.oldestWaitingSeconds) < 86_400)
    }
  }

  @Test("is told to operators and auditors, kept or counted; who sees one clinic has its own dead counted")
  func logins() async throws {
    try await withQueue { queue async throws in
      try await queue.addUser("ann")
      _ = try await queue.submit(Ask("ann") * 3)
      _ = try await queue.statements.heartbeat([], leaseDuration: .seconds(60), inFlight: 0).run(
        on: queue.pool)
      for role in ["operator", "auditor"] {
        try await withLogin(of: [role], in: queue) { login async throws in
          try await queue.execute("UPDATE analysis.shard_count SET counted_at = '-infinity'")
          #expect(try await QueueStatus.read(login).waiting == BoundedCount(3))
          try await WorkerStatements.refreshCounts(of: [0]).run(on: queue.pool)
          try await queue.execute("UPDATE analysis.shard_count SET dead = 7")
          let kept = try await QueueStatus.read(login)
          #expect(kept.waiting == BoundedCount(3) && kept.dead == BoundedCount(7))
          try await queue.execute(
            """
            INSERT INTO analysis.clinic (name) VALUES ('\(role)');
            SELECT analysis.grant_clinics('analysis_\(role)', '{\(role)}')
            """)
          #expect(try await QueueStatus.read(login).dead == BoundedCount(0), "those of its clinic")
        }
      }
    }
  }

  @Test("of an empty queue has nothing in it")
  func empty() async throws {
    try await withQueue { queue async throws in
      let status = try await QueueStatus.read(queue.pool)
      #expect(status.waiting == BoundedCount(0))
      #expect(status.oldestWaitingSeconds == nil)
      #expect(status.workers.isEmpty)
    }
  }
}
