package import PostgreSQL
package import Queue
package import Support
import Testing

extension QueueFixture {
  /// Claims what waits in a lane, as a worker does.
  package func claimJobs(
    _ lane: Lane = Lane(.throat, .normal), lease: Int64 = 1000, count: Int = 100
  ) async throws -> [ClaimedJob] {
    try await statements.claim(
      firstLease: lease, lanes: [LaneClaim(lane: lane, from: 0, limit: count)], count: count,
      leaseDuration: .seconds(600)
    ).run(on: pool).flatMap(\.jobs)
  }

  /// A result of a claimed job with two conditions.
  package func completed(_ job: ClaimedJob, name: String = "Tonsillitis") throws -> CompletedJob {
    let conditions = [
      Condition(
        id: "tonsillitis", name: name, confidence: try #require(Confidence(0.83)), symptoms: ["fever"],
        isPotentiallySerious: true),
      Condition(id: "normal", name: "Normal", confidence: try #require(Confidence(0.21)), isNormal: true),
    ]
    let analysis = Analysis(
      id: "analysis-\(job.id)", kind: job.kind, conditions: conditions, answeredAt: 1_700_000_000.5,
      model: "stand-in")
    return CompletedJob(
      lease: job.lease, job: job.id, analysis: analysis, calls: 1, callMilliseconds: 12, endpoint: "main")
  }

  // MARK: By the SQL functions alone, by workers whose secret is made of a number

  /// Lanes of the throat: urgent, normal and bulk, and its quarantine.
  package static let lanes: [Int16] = [4, 5, 6, 7]

  /// Claims up to so many jobs of the lanes, from virtual time zero or where told, for all lanes or each.
  package func claim(
    _ count: Int32 = 100, worker: Int64 = 1, lease: Int64 = 100, lanes: [Int16] = Self.lanes, from: Int64 = 0,
    froms: [Int64]? = nil, limits: [Int32]? = nil, leaseDuration: Int32 = 60_000,
    on queryable: (any Queryable)? = nil
  ) async throws -> [Claimed] {
    let rows = try await (queryable ?? pool).query(
      """
      SELECT o_lease, o_lane, o_job, o_period, o_attempt, o_vt, o_user, o_expired
      FROM analysis.claim(0::smallint, sha256($1::bigint::text::bytea), $2, $3, $4, $5, $6, $7) WHERE o_job IS NOT NULL
      """,
      [
        .int64(worker), .int64(lease), .array(lanes), .array(froms ?? lanes.map { _ in from }),
        .array(limits ?? lanes.map { _ in count }), .int32(count), .int32(leaseDuration),
      ])
    return try rows.map { row in
      Claimed(
        lease: try row.int64(0), lane: try row.int16(1), job: try row.int64(2), period: try row.int16(3),
        attempt: try row.int16(4), virtualTime: try row.int64(5), user: try row.int64(6),
        isExpired: try row.bool(7))
    }
  }

  /// Completes jobs with one condition each, of a lease for each or of one for all; answers those whose result was
  /// stored now.
  package func complete(
    _ jobs: [Int64], worker: Int64 = 1, leases: [Int64], confidences: [Double]? = nil,
    knownBusy: Bool = false, on queryable: (any Queryable)? = nil
  ) async throws -> Set<Int64> {
    let confidences = confidences ?? jobs.map { _ in 0.85 }
    let rows = try await (queryable ?? pool).query(
      """
      SELECT unnest(c.o_stored) FROM analysis.complete(0::smallint, sha256($1::bigint::text::bytea), $2, $3,
        array_fill('analysis'::text, ARRAY[$5]), array_fill(NULL::timestamptz, ARRAY[$5]),
        array_fill('[{"id": "tonsillitis"}]'::text, ARRAY[$5]), array_fill(1::smallint, ARRAY[$5]),
        array_fill('tonsillitis'::text, ARRAY[$5]), array_fill('Tonsillitis'::text, ARRAY[$5]), $4,
        array_fill(4::smallint, ARRAY[$5]), array_fill(false, ARRAY[$5]),
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        array_fill(1::smallint, ARRAY[$5]), array_fill(12, ARRAY[$5]), NULL, NULL, 'test', $6) c
      """,
      [
        .int64(worker), .array(Self.each(leases, of: jobs)), .array(jobs), .array(confidences),
        .int32(Int32(jobs.count)), .bool(knownBusy),
      ])
    return Set(try rows.map { try $0.int64(0) })
  }

  /// Completes all jobs of a claim.
  package func complete(_ claimed: [Claimed], worker: Int64 = 1) async throws -> Set<Int64> {
    try await complete(claimed.map(\.job), worker: worker, leases: claimed.map(\.lease))
  }

  private static func each(_ leases: [Int64], of jobs: [Int64]) -> [Int64] {
    leases.count == 1 ? jobs.map { _ in leases[0] } : leases
  }

  /// Ends attempts: again after a delay, or for good when it is nil.
  package func fail(
    _ jobs: [Int64], worker: Int64 = 1, leases: [Int64], delay: Int64?, consumes: Bool = true,
    failureClass: String = "server"
  ) async throws -> [Int64: String] {
    let rows = try await pool.query(
      """
      SELECT o_job, o_outcome FROM analysis.fail(0::smallint, sha256($1::bigint::text::bytea), $2, $3, array_fill($4::bigint, ARRAY[$5]),
        array_fill($6::boolean, ARRAY[$5]), array_fill($7::text, ARRAY[$5]), NULL, array_fill('It failed.'::text, ARRAY[$5]),
        NULL, NULL, array_fill(1::smallint, ARRAY[$5]), array_fill(false, ARRAY[$5]), NULL)
      """,
      [
        .int64(worker), .array(Self.each(leases, of: jobs)), .array(jobs), .int64(delay),
        .int32(Int32(jobs.count)), .bool(consumes), .text(failureClass),
      ])
    return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.int64(0), try $0.string(1)) })
  }

  package func release(_ jobs: [Int64], worker: Int64 = 1, leases: [Int64], delay: Int64 = 0) async throws
    -> Set<Int64>
  {
    let rows = try await pool.query(
      "SELECT unnest(h.o_back) FROM analysis.release(0::smallint, sha256($1::bigint::text::bytea), $2, $3, $4) h",
      [.int64(worker), .array(Self.each(leases, of: jobs)), .array(jobs), .int64(delay)])
    return Set(try rows.map { try $0.int64(0) })
  }

  package func heartbeat(
    _ leases: [Int64], worker: Int64 = 1, leaseDuration: Int32 = 60_000, on queryable: (any Queryable)? = nil
  ) async throws -> Set<Int64> {
    let rows = try await (queryable ?? pool).query(
      "SELECT h FROM analysis.heartbeat(0::smallint, sha256($1::bigint::text::bytea), $2, $3, 'host', 1, 'test', 0) h",
      [.int64(worker), .array(leases), .int32(leaseDuration)])
    return Set(try rows.map { try $0.int64(0) })
  }

  /// A job that has died.
  package func deadJob(_ user: String, image: String = "photo") async throws -> Int64 {
    let job = try await create([Ask(user, image: image)])[0]
    let claimed = try await claim(1)
    _ = try await fail([job], leases: [claimed[0].lease], delay: nil)
    return job
  }
}
