import BenchmarkKit
import PostgreSQL
import Support

/// A month full of analyses, written set-based as submits and workers would have left it.
struct PlantedMonth: Sendable {
  /// The month, which is over.
  let month: Period
  /// How many analyses it has.
  let rows: Int
  /// How many users there are.
  let users: Int

  private static let chunk = 250_000
  private static let patience = Duration.seconds(600)

  /// Plants so many analyses of the month before the last one into an empty database that has the schema.
  static func plant(_ rows: Int, in database: ConnectionPool) async throws -> PlantedMonth {
    let now = try await database.query("SELECT analysis.period_of(now(), 'UTC')").single().int16(0)
    let users = max(rows / 50, 20)
    guard let month = Period(label: now - 2) else { throw BenchmarkError("\(now - 2) is no month") }
    _ = try await database.query(
      "SELECT analysis.ensure_partitions($1, $1)", [.int16(month.label)], deadline: patience)
    _ = try await database.query(
      SQLStatement(accounts, [.int32(Int32(users))], label: "adding users"),
      deadline: patience)
    for start in stride(from: 0, to: rows, by: chunk) {
      let last = min(start + chunk, rows) - 1
      _ = try await database.query(
        SQLStatement(
          analyses,
          [
            .int16(month.label), .int64(Int64(start)), .int64(Int64(last)), .int64(Int64(rows)),
            .int32(Int32(users)),
          ],
          label: "planting analyses"),
        deadline: patience)
    }
    for statement in [jobs, usage] {
      _ = try await database.query(
        SQLStatement(statement, [.int16(month.label)], label: "planting jobs and usage"), deadline: patience)
    }
    // As autovacuum leaves a month that is over: its rows frozen, its pages marked visible.
    _ = try await database.query("VACUUM (FREEZE, ANALYZE) analysis.result, analysis.job", deadline: patience)
    _ = try await database.query("VACUUM (ANALYZE) analysis.account, analysis.usage", deadline: patience)
    return PlantedMonth(month: month, rows: rows, users: users)
  }

  private static let accounts = """
    SELECT count(*) FROM generate_series(1, $1::int) n, analysis.add_user(0::smallint, 'user-' || n, 'premium',
      (ARRAY['UTC', 'Asia/Jakarta', 'Europe/Berlin'])[n % 3 + 1], NULL, NULL)
    """

  /// The jobs of the analyses. $1 the month.
  private static let jobs = """
    INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
      max_attempts, image_unsanitized, image_mark)
    SELECT r.shard, r.period, r.kind, r.kind * 4 + 1, r.job_id, r.user_id, 1, r.job_id, r.finished_at - interval '20 seconds', 120000,
      r.period, 3, false, substr(sha256(r.job_id::text::bytea), 1, 16)
    FROM analysis.result r WHERE r.period = $1 ORDER BY r.job_id
    """

  /// What the submits had counted. $1 the month.
  private static let usage = """
    INSERT INTO analysis.usage (shard, period, used, user_id)
    SELECT r.shard, r.period, count(*), r.user_id FROM analysis.result r WHERE r.period = $1 GROUP BY 1, 2, 4
    """

  /// $1 the month, $2 to $3 the numbers of the rows, $4 how many there will be, $5 how many users.
  ///
  /// They finished one after the other over the month. One in eight has no finding, the others have two; the
  /// texts are as long as a model's. One in fifty took two calls.
  private static let analyses = """
    INSERT INTO analysis.result (shard, period, kind, outcome, job_id, user_id, finished_at, answered_at,
      primary_confidence, secondary_confidence, call_ms, attempt, calls, condition_count, primary_band, secondary_band,
      primary_normal, secondary_normal, serious, consult, endpoint_serious, endpoint_consult, analysis_id, primary_id, primary_name, secondary_id,
      secondary_name, endpoint, model, version, conditions)
    SELECT 0, $1, n % 2 + 1, 1, n + 1, u.user_id, f.at, f.at - interval '20 ms',
      f.first, f.second, 30 + n % 50, 1, CASE n % 50 WHEN 0 THEN 2 ELSE 1 END, CASE WHEN f.first IS NULL THEN 0 ELSE 2 END,
      CASE WHEN f.first >= 0.8 THEN 4 WHEN f.first >= 0.6 THEN 3 WHEN f.first >= 0.4 THEN 2 WHEN f.first >= 0 THEN 1 END,
      CASE WHEN f.second >= 0.4 THEN 2 WHEN f.second >= 0 THEN 1 END,
      CASE WHEN f.first >= 0 THEN false END, CASE WHEN f.second >= 0 THEN false END,
      coalesce(f.first > 0.7, false), coalesce(f.first > 0.5, false), f.first >= 0, f.first >= 0,
      'analysis-' || lpad(to_hex(n * 2654435761), 16, '0'),
      CASE WHEN f.first >= 0 THEN 'white_patches' END, CASE WHEN f.first >= 0 THEN 'Pale patches (tonsillitis-like)' END,
      CASE WHEN f.second >= 0 THEN 'throat_redness' END,
      CASE WHEN f.second >= 0 THEN 'Throat redness (pharyngitis-like)' END,
      'http://127.0.0.1:8080', 'stand-in: numbers drawn from the image''s digest, not a medical model', '1.0.0',
      CASE WHEN f.first IS NULL THEN '[]' ELSE jsonb_build_array(
        jsonb_build_object('id', 'white_patches', 'name', 'Pale patches (tonsillitis-like)', 'confidence', f.first,
          'band', 'red', 'normal', false, 'description', 'Pale areas on a coloured ground.', 'symptoms',
          jsonb_build_array('White or yellow patches', 'Fever', 'Swollen tonsils'), 'serious', true, 'consult', true,
          'treatment', 'A clinician decides.'),
        jsonb_build_object('id', 'throat_redness', 'name', 'Throat redness (pharyngitis-like)', 'confidence', f.second,
          'band', 'green', 'normal', false, 'description', 'Much of the picture is red.', 'symptoms',
          jsonb_build_array('Sore throat', 'Pain when swallowing', 'Red throat'), 'serious', false, 'consult', true,
          'treatment', 'Rest and fluids.')) END
    FROM generate_series($2::bigint, $3) n
    CROSS JOIN LATERAL (
      SELECT CASE WHEN n % 8 > 0 THEN round((n * 7919 % 10000) / 10000.0, 4)::float8 END AS first,
        CASE WHEN n % 8 > 0 THEN round((n * 104729 % 5000) / 10000.0, 4)::float8 END AS second,
        analysis.period_start($1, 'UTC') + interval '27 days' * (n::float8 / $4::float8) AS at) f
    JOIN (SELECT a.user_id, row_number() OVER (ORDER BY a.user_id) AS place FROM analysis.account a) u
      ON u.place = n * 31 % $5::int + 1
    ORDER BY n
    """
}
