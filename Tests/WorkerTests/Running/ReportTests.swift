import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support
@testable import Worker

@Suite("What a worker tells of itself")
struct ReportTests {
  /// The one worker's report, as soon as it satisfies a condition.
  private func report(
    _ queue: QueueFixture, _ what: String, _ location: SourceLocation = #_sourceLocation,
    until condition: (WorkerReport) -> Bool
  ) async throws -> WorkerReport {
    var found: WorkerReport?
    try await eventually(what, file: location.fileID, line: location.line) {
      found = try await QueueStatus.read(queue.pool).workers.first?.report
      return found.map(condition) ?? false
    }
    return try #require(found, sourceLocation: location)
  }

  @Test("Its counts, its endpoint and its clock are in the database, in one row, and go with it")
  func told() async throws {
    try await withQueue(shards: 4) { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend, .ear: backend])
      let report = try await report(queue, "three results and a clock") {
        $0.counters["jobs_completed"] == 3 && $0.clockAhead != nil
      }
      #expect(report.counters["endpoint_calls"] == 3 && report.counters["outcomes_stale"] == 0)
      let seconds = try #require(report.endpoints.first?.callSeconds)
      #expect(seconds > 0)
      #expect(
        report.endpoints == [
          .init(
            name: backend.url, kinds: ["throat", "ear"], state: .open, inFlight: 0, window: 4, calls: 3,
            callSeconds: seconds)
        ])
      // The same machine has one clock.
      let (ahead, uncertainty) = (try #require(report.clockAhead), try #require(report.clockUncertainty))
      #expect(abs(ahead) <= uncertainty + 0.001)
      #expect(
        try await queue.number("SELECT count(*)::int FROM analysis.worker WHERE report IS NOT NULL") == 1)
      worker.stop()
      _ = try await worker.summary()
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.worker WHERE ended_at IS NULL") == 0)
    }
  }

  @Test("What it did in its last seconds is in its report when it has ended")
  func last() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(7)
      _ = try await Running.drain(queue, try Backend())
      let worker = try #require(try await QueueStatus.read(queue.pool).workers.first)
      #expect(worker.hasEnded && worker.report?.counters["jobs_completed"] == 7)
    }
  }

  @Test("It has the queue counted after its last report, so that the history has what it did in the end")
  func countedLast() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(7)
      // Stands for the count, and notes only that it was called when the last report was there.
      try await queue.execute(
        """
        CREATE OR REPLACE FUNCTION analysis.refresh_counts(p_shards smallint[]) RETURNS int
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
        BEGIN
          INSERT INTO analysis.queue_history (
            step, at, waiting, in_flight, scheduled, done, dead, retried, rate)
          SELECT 60, clock_timestamp(), 0, 0, 0, (w.report -> 'counters' ->> 'jobs_completed')::bigint, 0, 0, 0
          FROM analysis.worker w WHERE w.ended_at IS NOT NULL;
          RETURN 0;
        END $$
        """)
      _ = try await Running.drain(queue, try Backend())
      let counted = try await queue.texts("SELECT done::text FROM analysis.queue_history")
      #expect(counted == ["7"])
    }
  }

  @Test("The counts of the queue are kept by one of two workers at a time, and by who is left of them")
  func counts() async throws {
    try await withQueue(shards: 2) { queue in
      try await queue.addUser()
      _ = try await PauseDirectory(queue.pool).pause(.everything, reason: nil, until: nil)
      let backend = try Backend()
      let (one, other) = (
        try Running(queue, [.throat: backend]), try Running(queue, [.throat: backend])
      )
      try await eventually("counts of both shards") {
        try await queue.number("SELECT count(*)::int FROM analysis.shard_count") == 2
      }
      try await queue.submit(5)
      try await eventually("what was submitted since") {
        let status = try await QueueStatus.read(queue.pool)
        return status.countedAgo != nil && status.waiting == BoundedCount(5)
      }
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.queue_history WHERE step = 10") > 0)
      one.stop()
      _ = try await one.summary()
      try await queue.submit(2)
      try await eventually("what was submitted after one had ended") {
        let status = try await QueueStatus.read(queue.pool)
        return status.countedAgo != nil && status.waiting == BoundedCount(7)
      }
      other.stop()
      _ = try await other.summary()
    }
  }

  // Behind a pooler it is the pooler that makes them.
  @Test("Connections that are made again are counted", .disabled(if: TestServer.isPooled))
  func connections() async throws {
    try await withQueue { queue in
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend])
      let before = try await report(queue, "its connections") { $0.counters["database_connects"] ?? 0 > 1 }
      let cut = try await queue.number(
        """
        SELECT count(pg_terminate_backend(pid))::int FROM pg_stat_activity
        WHERE application_name = '\(Running.applicationName)' AND datname = current_database()
        """)
      #expect(cut > 0)
      let after = try await report(queue, "those that replace them") {
        $0.counters["database_connects"] ?? 0 > before.counters["database_connects"] ?? 0
      }
      #expect(after.counters["database_connect_failures"] == 0)
      worker.stop()
      _ = try await worker.summary()
    }
  }

  @Test("An endpoint that refuses the account is told as shut, with the reason")
  func shut() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(1)
      let backend = try Backend { _ in .failure(403, "FORBIDDEN") }
      let worker = try Running(queue, [.throat: backend])
      let report = try await report(queue, "the refusal") { $0.endpoints.first?.state == .shut }
      let endpoint = try #require(report.endpoints.first)
      #expect(endpoint.reason == "it refuses the service account or the address; see the message")
      #expect(try #require(endpoint.nextTrySeconds) > 0)
      worker.stop()
      _ = try await worker.summary()
    }
  }

  @Test("An operator's pause is told as such")
  func paused() async throws {
    try await withQueue { queue in
      _ = try await PauseDirectory(queue.pool).pause(.kind(.throat), reason: "upgrade", until: nil)
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend])
      let report = try await report(queue, "the pause") { $0.endpoints.first?.state == .paused }
      #expect(report.endpoints.first?.reason == "paused by an operator (postgres): upgrade")
      worker.stop()
      _ = try await worker.summary()
    }
  }
}
