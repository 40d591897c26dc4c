package import PostgreSQL

extension RuleQueue {
  /// Adds a user to shard 0.
  package func add(_ user: String, plan: String = "premium", zone: String = "UTC") async throws {
    _ = try await pool.query(
      "SELECT 1 FROM analysis.add_user(0::smallint, $1, $2, $3, NULL, NULL)",
      [.text(user), .text(plan), .text(zone)])
  }

  /// Submits jobs in one call, by the pool or within a transaction.
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
