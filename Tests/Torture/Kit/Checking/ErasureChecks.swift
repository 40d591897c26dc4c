import PostgreSQL

/// What there still is of persons who were erased.
struct ErasureChecks {
  let traces: [String]

  func findings() -> [Finding] {
    [Finding("I11 erased", "an erased user is nowhere", broken: traces)]
  }

  /// Looks for the persons in every place that belongs to a user, and for their references in every text of the schema.
  static func traces(of persons: [ErasedPersons.Person], in database: ConnectionPool) async throws -> [String]
  {
    let numbers: [Parameter] = [.array(persons.map(\.number))]
    var traces = try await database.query(sql, numbers, deadline: .seconds(300)).map {
      "user \(try $0.int64(0)) has \(try $0.string(1)): \(try $0.int64(2))"
    }
    let columns = try await database.query(
      """
      SELECT format('%I.%I', c.table_schema, c.table_name), string_agg(format('%I::text', c.column_name), ', ')
      FROM information_schema.columns c
      JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE c.table_schema = 'analysis' AND t.table_type = 'BASE TABLE'
        AND c.data_type IN ('text', 'jsonb', 'name', 'ARRAY', 'character varying')
      GROUP BY 1 ORDER BY 1
      """, deadline: .seconds(60)
    ).map { (try $0.string(0), try $0.string(1)) }
    for (table, texts) in columns {
      let count = try await database.query(
        "SELECT count(*) FROM \(table) WHERE concat_ws(' ', \(texts)) LIKE '%\(ErasedPersons.prefix)%'",
        deadline: .seconds(120)
      ).single().int64(0)
      if count > 0 { traces.append("\(table) names a person in \(count) rows") }
    }
    return traces
  }

  private static let sql = """
    SELECT t.user_id, t.what, count(*) FROM (
      SELECT a.user_id, 'an account that is not erased' AS what FROM analysis.account a WHERE a.erased_at IS NULL
      UNION ALL SELECT i.user_id, 'an image' FROM analysis.image i
      UNION ALL SELECT k.user_id, 'an idempotency key' FROM analysis.idem k
      UNION ALL SELECT p.user_id, 'a profile' FROM analysis.profile p
      UNION ALL SELECT j.user_id, 'a file name or a key at a job' FROM analysis.job j
        WHERE j.source_name IS NOT NULL OR j.key_hash IS NOT NULL
      UNION ALL SELECT r.user_id, 'a result that tells what was found' FROM analysis.result r
        WHERE r.outcome = 1 AND r.condition_count IS NOT NULL
      UNION ALL SELECT j.user_id, 'an open job' FROM analysis.job j
        WHERE NOT EXISTS (SELECT FROM analysis.dead d WHERE d.shard = j.shard AND d.job_id = j.id)
          AND NOT EXISTS (
            SELECT FROM analysis.result r WHERE r.shard = j.shard AND r.period = j.period AND r.job_id = j.id)) t
    WHERE t.user_id = ANY ($1) GROUP BY 1, 2 ORDER BY 1, 2
    """
}
