import PostgreSQL

/// What there is at a moment of the stress's own users, jobs and the like: calls are about these, so that what they cancel,
/// erase or answer is nobody else's.
struct StressFacts: Sendable {
  /// A user, a job, a lease's job and so on.
  struct Fact: Sendable {
    let shard: Int16
    let number: Int64
    /// A user's reference, or the number of the worker that holds the lease.
    let owner: String
    /// The job in the lease.
    let job: Int64
  }

  private var facts: [String: [Fact]] = [:]

  /// The users' references. They are added, renamed to each other, erased and added again.
  static let names = (0..<10).map { "stress-\($0)" }
  static let clinics = ["stress-a", "stress-b"]
  static let plans = ["stress", "stress-few"]

  subscript(kind: String) -> [Fact] { facts[kind] ?? [] }

  /// The running month.
  var month: Int64 { self["month"].first?.number ?? 24000 }

  static func read(from database: ConnectionPool) async throws -> StressFacts {
    var facts = StressFacts()
    for row in try await database.query(sql, [.array(names)], deadline: .seconds(5)) {
      facts.facts[try row.string(0), default: []].append(
        Fact(
          shard: try row.int16(1), number: try row.int64(2), owner: try row.string(3), job: try row.int64(4)))
    }
    return facts
  }

  private static let sql = """
    WITH users AS (SELECT a.shard, a.user_id, a.user_ref FROM analysis.account a WHERE a.user_ref = ANY ($1)),
    jobs AS (
      SELECT j.shard, j.id, u.user_ref FROM users u JOIN analysis.job j ON j.shard = u.shard AND j.user_id = u.user_id
      ORDER BY j.id DESC LIMIT 400),
    hooks AS (
      SELECT w.shard, w.id FROM analysis.webhook w LEFT JOIN analysis.clinic c ON c.id = w.clinic_id
      LEFT JOIN users u ON u.shard = w.shard AND u.user_id = w.user_id
      WHERE c.name LIKE 'stress%' OR u.user_id IS NOT NULL)
    SELECT 'month', 0::smallint, analysis.period_of(now(), 'UTC')::bigint, '', 0::bigint
    UNION ALL SELECT 'user', shard, user_id, user_ref, 0 FROM users
    UNION ALL SELECT 'job', shard, id, user_ref, 0 FROM jobs
    UNION ALL SELECT 'dead', d.shard, d.job_id, '', 0 FROM analysis.dead d JOIN jobs j ON j.shard = d.shard AND j.id = d.job_id
    UNION ALL SELECT 'lease', l.shard, l.id, l.worker_id::text, j.id
      FROM analysis.lease l CROSS JOIN unnest(l.job_ids) o(id) JOIN jobs j ON j.shard = l.shard AND j.id = o.id
    UNION ALL (SELECT 'batch', 0::smallint, b.id, '', 0 FROM analysis.batch b
      JOIN analysis.submitter s ON s.id = b.submitter AND s.login LIKE 'stress%' ORDER BY b.id DESC LIMIT 20)
    UNION ALL SELECT 'webhook', coalesce(shard, 0::smallint), id, '', 0 FROM hooks
    UNION ALL (SELECT 'event', e.shard, e.id, '', 0 FROM analysis.webhook_event e
      JOIN hooks h ON h.id = e.webhook_id ORDER BY e.id DESC LIMIT 20)
    UNION ALL (SELECT 'share', s.shard, s.id, '', 0 FROM analysis.share s
      JOIN users u ON u.shard = s.shard AND u.user_id = s.user_id ORDER BY s.id DESC LIMIT 20)
    """
}
