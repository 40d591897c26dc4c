import Control
package import PostgreSQL
package import Queue
package import Support
import Testing

extension QueueFixture {
  /// Adds a user.
  package func addUser(
    _ reference: String = "clinic", plan: String = "premium", zone: String? = nil, anchor: Int? = nil
  ) async throws {
    let added = try await UserDirectory(pool).add(
      NewUser(reference: reference, plan: plan, zone: zone, anchor: anchor))
    // What a test begins with is no entry of its audit.
    try await tamper(
      "DELETE FROM analysis.audit_draft WHERE object = 'user:\(added.userID)' AND action = 'add_user'")
  }

  /// Adds users of a shard, and answers their references.
  package func addUsers(_ count: Int, inShard shard: Int) async throws -> [String] {
    let found = try await texts(
      "SELECT u FROM (SELECT 'user-' || i AS u FROM generate_series(1, 500) i) n WHERE analysis.shard_of(u) = \(shard) LIMIT \(count)"
    )
    for user in found { try await addUser(user) }
    return found
  }

  /// Submits jobs, and answers their numbers; all have to be created.
  ///
  /// - Parameters:
  ///   - image: The picture of all; nil for made-up bytes, others for each job.
  ///   - seconds: In how long they may run.
  @discardableResult
  package func submit(
    _ count: Int = 1, user: String = "clinic", kind: AnalysisKind = .throat, priority: Priority = .normal,
    maxAttempts: Int = 10, image: SubmittedImage? = nil, in seconds: Double? = nil
  ) async throws -> [JobID] {
    let runAt = if let seconds { try await now(plus: seconds) } else { nil as Double? }
    let items = (0..<count).map { number in
      var item = submission(user, number + 1, kind: kind, priority: priority, runAt: runAt)
      if let image { item.image = number == 0 ? image : .known(sha256: image.sha256) }
      return item
    }
    let submitter = Submitter(pool, limits: SubmitLimits(maxAttempts: maxAttempts))
    // The picture comes first: what names a stored one is judged before any of its own call is stored.
    let parts = image == nil ? [items] : [Array(items.prefix(1)), Array(items.dropFirst())]
    var outcomes: [SubmitOutcome] = []
    for part in parts where !part.isEmpty { outcomes += try await submitter.submit(part) }
    let jobs = outcomes.compactMap { if case .created(let job, _) = $0 { job } else { nil } }
    try #require(jobs.count == count, "\(outcomes)")
    return jobs
  }

  /// Submits jobs as they are.
  @discardableResult
  package func submit(_ items: [Submission]) async throws -> [SubmitOutcome] {
    try await Submitter(pool).submit(items)
  }

  package func submission(
    _ user: String, _ image: Int = 1, key: String? = nil, kind: AnalysisKind = .throat,
    priority: Priority = .normal, runAt: Double? = nil
  ) -> Submission {
    Submission(
      user: user, kind: kind, priority: priority, image: Self.image(image), key: key, runAt: runAt,
      sourceName: "photo \(image).jpg")
  }

  /// Made-up bytes, different for each number.
  package static func image(_ number: Int) -> SubmittedImage {
    .bytes(bytes(number), sha256: hash(number), width: 640, height: 480)
  }

  package static func bytes(_ number: Int) -> [UInt8] {
    (0..<500).map { UInt8(truncatingIfNeeded: $0 &* number) }
  }

  package static func hash(_ number: Int) -> [UInt8] { SHA256.digest(of: bytes(number)) }

  // MARK: By the SQL function alone

  /// Submits jobs in one call to shard 0, by the pool or within a transaction.
  package func submit(_ asks: [Ask], maxAttempts: Int16 = 3, on queryable: (any Queryable)? = nil)
    async throws
    -> [Answer]
  {
    let rows = try await (queryable ?? pool).query(
      """
      SELECT s.o_outcome, s.o_reason, s.o_job, s.o_period, s.o_limit, s.o_used
      FROM analysis.submit(0::smallint, $1, $2, $3,
             (SELECT array_agg(sha256(convert_to(t, 'UTF8')) ORDER BY i) FROM unnest($4::text[]) WITH ORDINALITY u(t, i)),
             (SELECT array_agg(CASE WHEN b THEN convert_to(t, 'UTF8') END ORDER BY i)
              FROM unnest($4::text[], $5::boolean[]) WITH ORDINALITY u(t, b, i)),
             NULL, NULL, NULL, $6,
             (SELECT array_agg(to_timestamp(t) ORDER BY i) FROM unnest($7::float8[]) WITH ORDINALITY u(t, i)),
             (SELECT array_agg(to_timestamp(t) ORDER BY i) FROM unnest($8::float8[]) WITH ORDINALITY u(t, i)),
             NULL, $9, NULL, NULL) s
      ORDER BY s.o_index
      """,
      [
        .array(asks.map(\.user)), .array(asks.map(\.kind)), .array(asks.map(\.priority)),
        .array(asks.map(\.image)),
        .array(asks.map(\.withBytes)), .array(asks.map(\.key)), .array(asks.map(\.at)),
        .array(asks.map(\.expires)),
        .int16(maxAttempts),
      ])
    return try rows.map { row in
      Answer(
        outcome: try row.string(0), reason: try row.stringIfPresent(1), job: try row.int64IfPresent(2),
        period: try row.int16IfPresent(3), limit: try row.intIfPresent(4), used: try row.intIfPresent(5))
    }
  }

  /// Submits jobs that have to be created, and answers their numbers.
  package func create(_ asks: [Ask], maxAttempts: Int16 = 3) async throws -> [Int64] {
    try await submit(asks, maxAttempts: maxAttempts).compactMap(\.job)
  }

  /// The server's time, in seconds since 1970, and so much later.
  package func now(plus seconds: Double = 0) async throws -> Double {
    try await pool.query("SELECT extract(epoch FROM clock_timestamp())::float8").single().double(0) + seconds
  }
}

extension QueueFixture {
  /// Adds a token of a user of a shard, whose text is the user's name unless another is given.
  package func addToken(_ user: String, text: String? = nil, shard: Int = 0) async throws {
    _ = try await pool.query(
      "SELECT analysis.add_token(\(shard)::smallint, $1, sha256($2::text::bytea), NULL, NULL)",
      [.text(user), .text(text ?? user)])
  }
}
