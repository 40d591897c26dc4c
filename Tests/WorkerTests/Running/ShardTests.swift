import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support
@testable import Worker

@Suite("A worker and its shards")
struct ShardTests {
  private static let countsCalls = !TestServer.isPooled
  private static let needsCounts: Comment =
    "a server's process counts its calls when it ends, and a pooler's lives on"

  /// How often each function of the queue was called on a database, once nobody is connected to it but the test:
  /// a server process counts its calls for others at its end.
  private func calls(_ queue: QueueFixture) async throws -> [String: Int] {
    try await eventually("the worker's connections to close") {
      try await queue.number(
        "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND application_name = '\(Running.applicationName)'"
      ) == 0
    }
    let rows = try await queue.pool.query(
      "SELECT funcname, sum(calls)::int FROM pg_stat_user_functions WHERE schemaname = 'analysis' GROUP BY funcname"
    )
    return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.string(0), try $0.int(1)) })
  }

  private func countCalls(_ queue: QueueFixture) async throws {
    _ = try await queue.pool.query("ALTER DATABASE \(queue.database.name) SET track_functions = 'all'")
  }

  @Test(
    "An idle worker asks all shards with one call, and makes no other for any of them",
    .enabled(if: Self.countsCalls, Self.needsCounts))
  func idle() async throws {
    try await withQueue(shards: 64) { queue in
      try await countCalls(queue)
      // Nobody's turn comes, however long this takes, and one sign of life is enough.
      func putOff() async throws {
        try await queue.execute(
          """
          INSERT INTO analysis.maintenance (shard, task, next_at)
          SELECT s, t.task, clock_timestamp() + t.ahead
          FROM generate_series(0, 63) s,
            (VALUES ('sweep', interval '65 s'), ('gauges', interval '19 s'), ('partitions', interval '1 hour')) t(task, ahead)
          ON CONFLICT (shard, task) DO UPDATE SET next_at = EXCLUDED.next_at
          """)
      }
      try await putOff()
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend, .ear: backend]) {
        $0.heartbeat = .seconds(3600)
        $0.idlePoll = .milliseconds(250)
        $0.promoteEvery = .milliseconds(250)
      }
      // By its report, which it writes again and again.
      try await eventually("two reports") {
        try await putOff()
        return try await queue.number(
          "SELECT count(*)::int FROM analysis.worker WHERE reported_at > started_at + interval '5 seconds'")
          == 1
      }
      worker.stop()
      _ = try await worker.summary()
      let calls = try await calls(queue)
      #expect(calls["work", default: 0] > 10)
      for function in ["claim", "promote", "tick", "apply_refunds", "rescue", "take_turn", "sweep"] {
        #expect(calls[function] == nil, "\(function): \(calls[function] ?? 0) calls")
      }
      #expect(calls["heartbeat"] == 1 && calls["retire"] == 1)
    }
  }

  @Test(
    "A drain claims from the shards in which jobs wait and from no other",
    .enabled(if: Self.countsCalls, Self.needsCounts))
  func drain() async throws {
    try await withQueue(shards: 64) { queue in
      try await countCalls(queue)
      let shards = [3, 17, 40]
      for shard in shards {
        for user in try await queue.addUsers(1, inShard: shard) { try await queue.submit(2, user: user) }
      }
      let summary = try await Running.drain(queue, try Backend()) { $0.promoteEvery = .milliseconds(250) }
      #expect(summary.completed == 6 && summary.left == [])
      let calls = try await calls(queue)
      // One that takes the jobs, and at most two that find no more: from where the mark is, and from where it is published.
      #expect(calls["claim", default: 0] <= 3 * shards.count, "\(calls["claim", default: 0]) claims")
      #expect(calls["promote"] == nil && calls["apply_refunds"] == nil)
      try await queue.expectSound()
    }
  }

  @Test("A job that is submitted without a notice is found in any shard, by an idle worker and by a busy one")
  func found() async throws {
    try await withQueue(shards: 64) { queue in
      let busy = try #require(try await queue.addUsers(1, inShard: 5).first)
      let quiet = try #require(try await queue.addUsers(1, inShard: 60).first)
      let gate = Gate()
      let held = try Backend(holding: gate)
      let ears = try Backend()
      let worker = try Running(queue, [.throat: held, .ear: ears]) {
        $0.idlePoll = .milliseconds(250)
      }
      try await queue.submit(1, user: quiet, kind: .ear)
      try await eventually("the first") { try await queue.results == 1 }
      try await queue.submit(20, user: busy)
      try await eventually("calls") { held.calls.count > 0 }
      try await queue.submit(1, user: quiet, kind: .ear)
      try await eventually("the second") { try await queue.results == 2 }
      for _ in 0..<20 { gate.open() }
      try await eventually("all") { try await queue.results == 22 }
      worker.stop()
      #expect(try await worker.summary().completed == 22)
      #expect(ears.calls.count == 2)
      try await queue.expectSound()
    }
  }

  @Test("A worker is told of once, with the calls that it has in flight in all shards")
  func inFlight() async throws {
    try await withQueue(shards: 8) { queue in
      for shard in [1, 4] {
        for user in try await queue.addUsers(1, inShard: shard) { try await queue.submit(2, user: user) }
      }
      let gate = Gate()
      let backend = try Backend(holding: gate)
      let worker = try Running(queue, [.throat: backend])
      try await eventually("four calls") { backend.calls.count == 4 }
      try await eventually("signs of life in each shard in which jobs are held") {
        try await queue.text(
          "SELECT coalesce(string_agg(in_flight::text, ',' ORDER BY in_flight), '') FROM analysis.worker")
          == "0,0,4"
      }
      let workers = try await QueueStatus.read(queue.pool).workers
      #expect(workers.map(\.inFlight) == [4])
      for _ in 0..<4 { gate.open() }
      worker.stop()
      #expect(try await worker.summary().completed == 4)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.worker WHERE ended_at IS NULL") == 0)
    }
  }

  @Test(
    "A sweep by a worker of another type finds what was committed late, and the worker that serves it runs it"
  )
  func sweepByAnother() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let backend = try Backend()
      // It takes no turn any more once it has begun: as when another process wins each of them.
      let throats = try Running(queue, [.throat: backend]) { $0.rescueEvery = .seconds(3600) }
      try await queue.submit()
      try await eventually("the first") { try await queue.results == 1 }
      try await eventually("its turns") {
        try await queue.number("SELECT count(*)::int FROM analysis.maintenance") == 3
      }
      _ = try await queue.pool.query(
        """
        INSERT INTO analysis.lane_clock (shard, lane, now_vt, scan_from, staged, staged_at, at)
        VALUES (0, 5, 1000000000, 1000000000, 1000000000, clock_timestamp(), clock_timestamp())
        ON CONFLICT (shard, lane) DO UPDATE SET now_vt = 1000000000, scan_from = 1000000000, staged = 1000000000
        """)
      // As if it had been submitted before the lane came so far.
      try await queue.submit(priority: .bulk)
      _ = try await queue.pool.query(
        """
        WITH late AS (DELETE FROM analysis.ready WHERE lane = 6 RETURNING *)
        INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
        SELECT shard, 5, tries, period, 5, job_id FROM late
        """)
      _ = try await queue.pool.query(
        "UPDATE analysis.maintenance SET next_at = '-infinity' WHERE task = 'sweep'")
      let ears = try Running(queue, [.ear: backend])
      try await eventually("the late one") { try await queue.results == 2 }
      for worker in [throats, ears] { worker.stop() }
      #expect(try await throats.summary().completed == 2)
      #expect(try await ears.summary().completed == 0)
      try await queue.expectSound()
    }
  }

  @Test("Short drains one after another publish how far each of them came")
  func marks() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let backend = try Backend()
      for _ in 0..<4 {
        try await queue.submit(3)
        #expect(try await Running.drain(queue, backend).completed == 3)
        let published = try await queue.number("SELECT now_vt::int FROM analysis.lane_clock WHERE lane = 5")
        #expect(try await queue.number("SELECT max(vt)::int FROM analysis.job") == published)
      }
    }
  }

  @Test("A worker that is stopped publishes how far it came, and does not wait for who holds the lane")
  func marksAtStop() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let backend = try Backend()
      try await queue.submit(3)
      let worker = try Running(queue, [.throat: backend]) { $0.promoteEvery = .seconds(3600) }
      try await eventually("all") { try await queue.results == 3 }
      worker.stop()
      _ = try await worker.summary()
      let published = try await queue.number("SELECT now_vt::int FROM analysis.lane_clock WHERE lane = 5")
      #expect(try await queue.number("SELECT max(vt)::int FROM analysis.job") == published)

      try await queue.submit(3)
      let other = try Running(queue, [.throat: backend]) { $0.promoteEvery = .seconds(3600) }
      try await eventually("all") { try await queue.results == 6 }
      try await queue.pool.transaction { open in
        _ = try await open.query("SELECT FROM analysis.lane_clock FOR UPDATE")
        other.stop()
        _ = try await other.summary()
      }
      #expect(
        try await queue.number("SELECT now_vt::int FROM analysis.lane_clock WHERE lane = 5") == published)
      #expect(backend.calls.count == 6)
    }
  }

  @Test("Each priority has its share while the others have jobs too (I15)")
  func shares() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let backend = try Backend()
      try await queue.submit(240, priority: .urgent)
      try await queue.submit(16, priority: .normal)
      try await queue.submit(8, priority: .bulk)
      #expect(try await Running.drain(queue, backend).completed == 264)
      func last(_ lane: Int) async throws -> Int {
        try await queue.number(
          """
          SELECT max(n)::int FROM (
            SELECT j.lane, row_number() OVER (ORDER BY r.finished_at) AS n
            FROM analysis.result r JOIN analysis.job j ON j.shard = r.shard AND j.period = r.period AND j.id = r.job_id) o
          WHERE lane = \(lane)
          """)
      }
      // Claims take from three to eight jobs.
      let (normal, bulk) = (try await last(5), try await last(6))
      #expect(normal < 200, "the last normal one is number \(normal) of 264")
      #expect(bulk < 200, "the last bulk one is number \(bulk) of 264")
      try await queue.expectSound()
    }
  }
}
