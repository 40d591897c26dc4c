import Control
import PostgreSQL
import Queue
import Support

/// Reads from the database what the checks compare.
struct FactReader {
  let database: ConnectionPool
  let records: [SubmitRecord]
  let erased: [ErasedPersons.Person]

  func read() async throws -> DatabaseFacts {
    // A short run is over before the server has counted the rows by itself, and plans would be bad.
    _ = try await database.query("ANALYZE", deadline: .seconds(120))
    var facts = DatabaseFacts()
    facts.jobs = try await jobs()
    facts.attempts = try await attempts()
    facts.brokenRules = try await query(
      "SELECT rule, concat_ws(' ', 'job', job_id, 'user', user_id, detail) FROM analysis.broken_invariants()"
    ) { DatabaseFacts.BrokenRule(rule: try $0.string(0), detail: try $0.string(1)) }
    facts.differences = try await Reconciliation.run(database).map {
      "\($0.user) in \($0.period): counted \($0.used), of it refunds \($0.pendingRefunds), "
        + "analysed \($0.analysed), open \($0.open)"
    }
    facts.traces = try await ErasureChecks.traces(of: erased, in: database)
    return facts
  }

  private func jobs() async throws -> [DatabaseFacts.Job] {
    let tags = try await tagsOfKeys()
    let undone = Dictionary(
      grouping: try await query(
        """
        SELECT j::bigint FROM analysis.audit_entry a CROSS JOIN jsonb_array_elements_text(a.detail -> 'jobs') j
        WHERE a.action = 'uncancel'
        """
      ) { JobID(try $0.int64(0)) }, by: \.self
    ).mapValues(\.count)
    return try await query(
      """
      SELECT j.shard, j.id, a.user_ref, j.source_name, j.key_hash,
        CASE WHEN r.outcome = 1 THEN 'analysed' WHEN r.outcome = 2 THEN 'cancelled' WHEN d.job_id IS NOT NULL THEN 'dead'
             WHEN s.run_at > now() + interval '1 hour' THEN 'scheduled' ELSE 'open' END,
        a.erased_at IS NOT NULL, coalesce(m.login LIKE 'stress%', false)
      FROM analysis.job j
      LEFT JOIN analysis.submitter m ON m.id = j.submitter
      JOIN analysis.account a ON a.shard = j.shard AND a.user_id = j.user_id
      LEFT JOIN analysis.result r ON r.shard = j.shard AND r.period = j.period AND r.job_id = j.id
      LEFT JOIN analysis.dead d ON d.shard = j.shard AND d.job_id = j.id
      LEFT JOIN analysis.scheduled s ON s.shard = j.shard AND s.job_id = j.id
      """
    ) { row in
      let isStress = try row.bool(7)
      let tag = isStress ? nil : try row.stringIfPresent(3) ?? row.bytesIfPresent(4).flatMap { tags[$0] }
      let places: [String: DatabaseFacts.Job.Place] = [
        "analysed": .analysed, "cancelled": .cancelled, "dead": .dead, "scheduled": .scheduled,
      ]
      let id = JobID(try row.int64(1))
      return DatabaseFacts.Job(
        id: id, shard: try row.int16(0), user: try row.string(2), tag: tag,
        place: places[try row.string(5)] ?? .open, undone: undone[id, default: 0], isErased: try row.bool(6),
        isStress: isStress)
    }
  }

  private func attempts() async throws -> [DatabaseFacts.Attempt] {
    try await query(
      """
      SELECT job_id, class, calls FROM analysis.attempt_error
      UNION ALL SELECT job_id, NULL, calls FROM analysis.result WHERE outcome = 1
      """
    ) {
      DatabaseFacts.Attempt(
        job: JobID(try $0.int64(0)), failure: try $0.stringIfPresent(1), calls: Int(try $0.int16(2)))
    }
  }

  /// Jobs that came by `submit_image` have no source name: the hash that the database keeps of a key and of the
  /// login that submits finds their records.
  private func tagsOfKeys() async throws -> [[UInt8]: String] {
    let salts = Dictionary(
      try await query("SELECT user_ref, key_salt FROM analysis.account") {
        (try $0.string(0), try $0.bytes(1))
      }
    ) { first, _ in first }
    let logins = try await query("SELECT login::text FROM analysis.submitter") {
      Array(try $0.string(0).utf8) + [0]
    }
    var tags: [[UInt8]: String] = [:]
    for record in records where record.key == record.tag {
      guard let salt = salts[record.user] else { continue }
      for login in logins { tags[SHA256.digest(of: salt + login + Array(record.tag.utf8))] = record.tag }
    }
    return tags
  }

  private func query<R>(_ sql: String, _ read: (Row) throws -> R) async throws -> [R] {
    try await database.query(sql, deadline: .seconds(300)).map(read)
  }
}
