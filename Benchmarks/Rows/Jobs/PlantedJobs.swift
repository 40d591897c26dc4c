import AnalysisCore
import BenchmarkKit
import PostgreSQL

/// A month full of jobs, written set-based as submits and workers would have left it: most are analysed, some are
/// cancelled or dead, and the latest wait, are scheduled or run. All are of the throat. One user has a twenty-fifth of
/// them, one has none.
struct PlantedJobs: Sendable {
  /// The present month.
  let month: Period
  /// How many jobs it has, numbered from 1.
  let jobs: Int

  private static let patience = Duration.seconds(1800)

  /// Plants so many jobs, of a fiftieth as many users, into an empty database that has the schema.
  static func plant(_ jobs: Int, in database: ConnectionPool) async throws -> PlantedJobs {
    let label = try await database.query("SELECT analysis.period_of(now(), 'UTC')").single().int16(0)
    guard let month = Period(label: label) else { throw BenchmarkError("\(label) is no month") }
    let parameters: [Parameter] = [.int16(label), .int64(Int64(jobs)), .int64(Int64(max(jobs / 50, 20)))]
    for (statement, count) in [
      (users, 3), (all, 3), (results, 2), (dead, 2), (ready, 2), (scheduled, 2), (running, 2),
    ] {
      _ = try await database.query(
        SQLStatement(statement, Array(parameters.prefix(count)), label: "planting jobs"), deadline: patience)
    }
    _ = try await database.query("VACUUM (ANALYZE)", deadline: patience)
    return PlantedJobs(month: month, jobs: jobs)
  }

  /// $1 the month, $2 how many jobs, $3 how many users.
  private static let users = """
    WITH names AS (
      SELECT g AS id, 'user-' || g AS name FROM generate_series(0, $3::bigint - 1) g UNION ALL SELECT $3, 'user-idle'),
    accounts AS (
      INSERT INTO analysis.account (shard, user_id, user_ref, zone, key_salt)
      SELECT 0, n.id, n.name, 'UTC', sha256(n.name::bytea) FROM names n)
    INSERT INTO analysis.usage (shard, period, user_id, used)
    SELECT 0, $1::smallint, n.id, $2::bigint / $3 FROM names n WHERE n.id < $3
    """

  private static let all = """
    INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
      max_attempts, image_unsanitized, image_mark, closed)
    SELECT 0, $1::smallint, 1, 5, g, CASE WHEN g % 25 = 0 THEN 0 ELSE g * 7919 % ($3::bigint - 1) + 1 END, 1, g, now(), 100, $1, 3,
      false, substr(sha256(g::text::bytea), 1, 16), g % 5000 = 2
    FROM generate_series(1, $2::bigint) g
    """

  /// How a job stands, by its number n of $2.
  private static let state = """
    CASE WHEN n > $2::bigint - $2 / 500 THEN 'scheduled' WHEN n > $2 - $2 / 250 THEN 'waiting' WHEN n % 5000 = 1 THEN 'dead'
      WHEN n % 5000 = 2 THEN 'cancelled' WHEN n % 100000 = 3 THEN 'running' ELSE 'succeeded' END
    """

  private static let results = """
    INSERT INTO analysis.result (shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls, condition_count,
      analysis_id, conditions, endpoint, model, version)
    SELECT 0, j.period, 1, 2 - a.n, j.id, j.user_id, now(), a.n, a.n, CASE a.n WHEN 1 THEN 0 END,
      CASE a.n WHEN 1 THEN 'analysis-' || j.id END, CASE a.n WHEN 1 THEN '[]'::jsonb END, 'http://127.0.0.1:8080', 'stand-in', '1.0.0'
    FROM (SELECT k.*, k.id AS n FROM analysis.job k WHERE k.period = $1) j
    CROSS JOIN LATERAL (SELECT \(state) AS state) s
    CROSS JOIN LATERAL (SELECT CASE s.state WHEN 'succeeded' THEN 1 ELSE 0 END AS n) a
    WHERE s.state IN ('succeeded', 'cancelled')
    """

  private static let dead = """
    INSERT INTO analysis.dead (shard, period, kind, attempts, job_id, user_id, failed_at, calls, class, message)
    SELECT 0, j.period, 1, 3, j.id, j.user_id, now(), 3, 'permanent', 'The image was refused.'
    FROM (SELECT k.*, k.id AS n FROM analysis.job k WHERE k.period = $1) j WHERE \(state) = 'dead'
    """

  private static let ready = """
    INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
    SELECT 0, j.lane, 0, j.period, j.vt, j.id
    FROM (SELECT k.*, k.id AS n FROM analysis.job k WHERE k.period = $1) j WHERE \(state) = 'waiting'
    """

  private static let scheduled = """
    INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id, user_id)
    SELECT 0, j.lane, 0, j.period, now() + interval '1 day', j.id, j.user_id
    FROM (SELECT k.*, k.id AS n FROM analysis.job k WHERE k.period = $1) j WHERE \(state) = 'scheduled'
    """

  private static let running = """
    INSERT INTO analysis.lease (shard, lane, id, worker_id, deadline, job_ids, periods, tries, user_ids)
    SELECT 0, 5, 1, 1, now() + interval '1 day', array_agg(j.id), array_agg(j.period), array_agg(0::smallint), array_agg(j.user_id)
    FROM (SELECT k.*, k.id AS n FROM analysis.job k WHERE k.period = $1) j WHERE \(state) = 'running' HAVING count(*) > 0
    """
}
