import EventLoop
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support

/// Claims and completes jobs as a worker does, with its scan marks and their publication, but calls nobody: what
/// it costs is the queue's own.
struct QueueDrill {
  let cluster: ServerCluster
  let queue: QueueFixture
  private let connection: Connection
  private let statements: WorkerStatements
  private var claims: ShardClaims
  private var ids: LeaseIDs
  private var tickAt = EventLoop.now

  static let kinds: [AnalysisKind] = [.throat]

  init(_ cluster: ServerCluster, _ queue: QueueFixture) async throws {
    self.cluster = cluster
    self.queue = queue
    connection = try await Connection.connect(
      ConnectionConfiguration(cluster.conninfo()), on: queue.loop)
    var generator = SystemRandomNumberGenerator()
    let identity = WorkerIdentity(host: "drill", pid: 1, version: "1.0", using: &generator)
    statements = WorkerStatements(shard: 0, worker: identity)
    claims = ShardClaims(kinds: Self.kinds, now: EventLoop.now)
    ids = LeaseIDs(using: &generator)
  }

  func close() async { await connection.close() }

  /// Puts jobs of the user into the queue as many submits would, with the units they take.
  func fill(_ count: Int) async throws {
    try await connection.execute(
      script: """
        WITH ids AS (
          SELECT nextval('analysis.job_id') AS id, analysis.period_of(now(), 'UTC') AS period,
                 g + coalesce((SELECT max(vt) FROM analysis.job), 0) AS vt
          FROM generate_series(1, \(count)) g),
        jobs AS (
          INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes,
            image_period, max_attempts, image_unsanitized, image_mark)
          SELECT 0, period, 1, 5, id, (SELECT user_id FROM analysis.account), 1, vt, now(), 1, period, 3, false, '' FROM ids),
        used AS (
          INSERT INTO analysis.usage AS u (shard, user_id, period, used)
          SELECT 0, user_id, analysis.period_of(now(), 'UTC'), \(count) FROM analysis.account
          ON CONFLICT (shard, user_id, period) DO UPDATE SET used = u.used + EXCLUDED.used)
        INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id) SELECT 0, 5, 0, period, vt, id FROM ids
        """, deadline: patience)
  }

  /// Claims and completes so many jobs, a hundred at a time.
  mutating func pass(_ count: Int) async throws {
    var left = count
    while left > 0 {
      let now = EventLoop.now
      if now >= tickAt {
        tickAt = now + .seconds(1)
        claims.published(try await statements.tick(claims.marks).run(on: connection))
      }
      let size = min(left, 100)
      let lanes = claims.next(count: size, quarantineInFlight: false, now: now)
      guard !lanes.isEmpty else {
        try await queue.loop.sleep(for: .milliseconds(1))
        continue
      }
      let leases = try await statements.claim(
        firstLease: ids.take(lanes.count), lanes: lanes, count: size, leaseDuration: .seconds(600)
      ).run(on: connection)
      claims.claimed(leases, for: lanes, count: size, now: now)
      let jobs = leases.flatMap(\.jobs)
      guard !jobs.isEmpty else { continue }
      let stored = try await statements.complete(jobs.map(Self.completed)).run(on: connection)
      try #require(stored.ended.count == jobs.count)
      left -= jobs.count
    }
  }

  private static func completed(_ job: ClaimedJob) -> CompletedJob {
    CompletedJob(
      lease: job.lease, job: job.id, analysis: Analysis(id: "a", kind: .throat, conditions: []), calls: 1,
      callMilliseconds: 1, endpoint: "none")
  }

  /// The buffers that a piece of work has the server touch for each job, in claims and in completions.
  mutating func buffers(_ count: Int, statement: String = "claim") async throws -> Double {
    _ = try await connection.query("SELECT pg_stat_statements_reset()")
    try await pass(count)
    return try await buffersTouched(statement) / Double(count)
  }

  private func buffersTouched(_ statement: String) async throws -> Double {
    try await connection.query(
      """
      SELECT sum(shared_blks_hit + shared_blks_read)::float8 FROM pg_stat_statements
      WHERE toplevel AND query LIKE '%analysis.\(statement)(%'
      """
    ).single().double(0)
  }
}
