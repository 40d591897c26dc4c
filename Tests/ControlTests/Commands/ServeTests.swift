import EventLoop
import PostgreSQL
import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("What serve shows of the queue")
struct ServeTests {
  private func text(_ monitor: QueueMonitor) async -> MetricsText {
    MetricsText(Exposition.text(await monitor.metrics()))
  }

  /// A queue with three waiting jobs, a running, a scheduled and a dead one, and a worker that finds its endpoint shut.
  private func withJobs(_ body: (QueueFixture) async throws -> Void) async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic")
      _ = try await queue.submit(5)
      let claimed = try await queue.claimJobs(count: 2)
      let failed = FailedAttempt(
        lease: claimed[0].lease, job: claimed[0].id, decision: .dead, failureClass: .permanent,
        message: "Refused.")
      _ = try await queue.statements.fail([failed]).run(on: queue.pool)
      _ = try await queue.submit(1, kind: .ear, priority: .urgent, in: 3600)
      _ = try await queue.statements.heartbeat([1000], leaseDuration: .seconds(60), inFlight: 1).run(
        on: queue.pool)
      _ = try await queue.statements.tell(
        WorkerReport(endpoints: [
          .init(name: "https://a.example.org", kinds: ["throat"], state: .shut),
          .init(name: "https://b.example.org", kinds: ["ear"], state: .paused),
        ]), on: queue.pool, deadline: patience)
      try await WorkerStatements.refreshGauges().run(on: queue.pool)
      try await body(queue)
    }
  }

  @Test(
    "The history goes on while no worker lives, by whoever may look and act; a worker that counts is left alone"
  )
  func history() async throws {
    try await withQueue { (queue) async throws in
      for role in ["auditor", "operator"] {
        try await withLogin(of: [role], in: queue) { (login) async throws in
          await QueueMonitor(login).keepHistory()
          let steps = try await queue.number("SELECT count(*) FROM analysis.queue_history WHERE step = 10")
          #expect(steps == (role == "operator" ? 1 : 0))
        }
      }
      _ = try await queue.statements.heartbeat([], leaseDuration: .seconds(60), inFlight: 0).run(
        on: queue.pool)
      try await WorkerStatements.refreshCounts(of: [0]).run(on: queue.pool)
      try await queue.execute("UPDATE analysis.shard_count SET counted_at = now() - interval '5 seconds'")
      let before = try await queue.texts("SELECT counted_at::text FROM analysis.shard_count")
      await QueueMonitor(queue.pool).keepHistory()
      #expect(try await queue.texts("SELECT counted_at::text FROM analysis.shard_count") == before)
    }
  }

  @Test("Jobs by state, type and priority, workers, breakers, causes and sizes, as Prometheus wants them")
  func metrics() async throws {
    try await withJobs { (queue) async throws in
      let text = await text(QueueMonitor(queue.pool))
      #expect(text["analysis_database_up"] == 1)
      #expect(text["analysis_jobs{state=\"waiting\",type=\"throat\",priority=\"normal\"}"] == 3)
      #expect(text["analysis_jobs{state=\"running\",type=\"throat\",priority=\"normal\"}"] == 1)
      #expect(text["analysis_jobs{state=\"waiting\",type=\"ear\",priority=\"quarantine\"}"] == 0)
      #expect(text["analysis_jobs{state=\"scheduled\"}"] == 1 && text["analysis_jobs{state=\"dead\"}"] == 1)
      #expect(text["analysis_jobs_are_capped"] == 0)
      #expect(text["analysis_queue_state{state=\"endpoint shut\"}"] == 1)
      #expect(text["analysis_queue_state{state=\"working\"}"] == 0)
      #expect(try #require(text["analysis_oldest_waiting_seconds{type=\"throat\",priority=\"normal\"}"]) > 0)
      #expect(text["analysis_oldest_waiting_seconds{type=\"ear\",priority=\"normal\"}"] == 0)
      #expect(text["analysis_workers{state=\"alive\"}"] == 1 && text["analysis_workers{state=\"lost\"}"] == 0)
      #expect(text["analysis_breaker_open{endpoint=\"https://a.example.org\"}"] == 1)
      #expect(text["analysis_breaker_open{endpoint=\"https://b.example.org\"}"] == 0)
      #expect(text["analysis_dead_jobs{class=\"permanent\"}"] == 1)
      #expect(text["analysis_submits_refused_total{limit=\"month\"}"] == 0)
      #expect(text["analysis_pending_refunds"] == 1 && text["analysis_webhooks_off"] == 0)
      #expect(try #require(text["analysis_database_bytes"]) > 1_000_000)
      #expect(text.names.isSubset(of: QueueMetrics.all.map(\.name)))
      if Promtool.isAvailable {
        let written = Exposition.text(await QueueMonitor(queue.pool).metrics())
        #expect(try await Promtool.complaints(ofMetrics: written) == "")
      }
    }
  }

  @Test("The database is asked once in five seconds, however many ask, and for the totals once in a minute")
  func cached() async throws {
    try await withJobs { (queue) async throws in
      let began = ContinuousClock.now
      let passed = Mutex(Duration.zero)
      let monitor = QueueMonitor(queue.pool) { began + passed.withLock { $0 } }
      func waiting() async -> Double? {
        await text(monitor)["analysis_jobs{state=\"waiting\",type=\"throat\",priority=\"normal\"}"]
      }
      #expect(await waiting() == 3)
      _ = try await queue.submit(1)
      try await queue.execute("UPDATE analysis.setting SET value = '5000' WHERE name = 'max_database_bytes'")
      passed.withLock { $0 = .seconds(4) }
      await withTaskGroup(of: Double?.self) { group in
        for _ in 0..<20 { group.addTask { await waiting() } }
        for await found in group { #expect(found == 3) }
      }
      passed.withLock { $0 = .seconds(6) }
      #expect(await waiting() == 4)
      #expect(await text(monitor)["analysis_database_limit_bytes"] == nil)
      passed.withLock { $0 = .seconds(61) }
      #expect(await text(monitor)["analysis_database_limit_bytes"] == 5000)
    }
  }

  @Test("Totals that wait for a lock keep neither the other numbers nor the readiness away")
  func slowTotals() async throws {
    try await withJobs { (queue) async throws in
      let monitor = QueueMonitor(queue.pool, totalsLimit: .milliseconds(100))
      try await queue.pool.transaction { (transaction) async throws in
        try await transaction.execute(script: "LOCK TABLE analysis.statement IN ACCESS EXCLUSIVE MODE")
        let text = await text(monitor)
        #expect(text["analysis_database_up"] == 1 && text["analysis_jobs{state=\"scheduled\"}"] == 1)
        #expect(text["analysis_dead_jobs{class=\"permanent\"}"] == nil)
        #expect(await monitor.readiness().isReady)
      }
    }
  }

  @Test("Totals that failed are left out, and asked for again when they are due, not at once")
  func failedTotals() async throws {
    try await withJobs { (queue) async throws in
      let began = ContinuousClock.now
      let passed = Mutex(Duration.zero)
      let monitor = QueueMonitor(queue.pool, totalsLimit: .seconds(600)) {
        began + passed.withLock { $0 }
      }
      func dead() async -> Double? { await text(monitor)["analysis_dead_jobs{class=\"permanent\"}"] }
      #expect(await dead() == 1)
      try await queue.execute("ALTER FUNCTION analysis.month_totals() RENAME TO month_totals_away")
      passed.withLock { $0 = .seconds(61) }
      #expect(await dead() == nil)
      #expect(await text(monitor)["analysis_database_up"] == 1)
      #expect(await monitor.readiness().isReady)
      try await queue.execute("ALTER FUNCTION analysis.month_totals_away() RENAME TO month_totals")
      passed.withLock { $0 = .seconds(67) }
      #expect(await dead() == nil)
      passed.withLock { $0 = .seconds(122) }
      #expect(await dead() == 1)
    }
  }

  @Test("Of a database that is away it says so, and shows no old number of jobs")
  func away() async throws {
    try await withJobs { (queue) async throws in
      let passed = Mutex(Duration.zero)
      let began = ContinuousClock.now
      let pool = ConnectionPool(queue.database.configuration, on: queue.loop, size: 1)
      let monitor = QueueMonitor(pool) { began + passed.withLock { $0 } }
      #expect(await monitor.readiness().isReady)
      #expect(await self.text(monitor)["analysis_dead_jobs{class=\"permanent\"}"] == 1)
      await pool.close()
      passed.withLock { $0 = .seconds(6) }
      let text = await text(monitor)
      #expect(text["analysis_database_up"] == 0)
      #expect(text["analysis_jobs{state=\"scheduled\"}"] == nil)
      #expect(text["analysis_dead_jobs{class=\"permanent\"}"] == nil)
      let readiness = await monitor.readiness()
      #expect(!readiness.isReady && readiness.facts["database"]?.text == "away")
    }
  }
}
