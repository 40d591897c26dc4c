import BenchmarkKit
import PostgreSQL
import Support

/// Months full of jobs, written set-based as submits and workers would have left them: most are analysed, some are
/// cancelled or dead with their attempts, and the latest wait, are scheduled or run. All are of the throat. One user has
/// a twenty-fifth of them, one has none.
struct PlantedJobs: Sendable {
  /// What is planted.
  struct Shape: Sendable {
    /// How many jobs there are, numbered from 1.
    let jobs: Int
    /// How many wait: the last ones before the scheduled ones.
    let waiting: Int
    /// How many are scheduled: the last ones. One in two of them was tried before.
    let scheduled: Int
    /// One in so many is dead.
    var deadOneIn = 5000
    /// One in so many has a condition, as what clinicians review; the others have none.
    var conditionOneIn = 500
    /// Over how many months they are spread, the present one the last. What waits or is scheduled is of the present.
    var months = 1

    /// One month, in which one job in 500 waits and as many are scheduled.
    static func month(_ jobs: Int) -> Shape { Shape(jobs: jobs, waiting: jobs / 500, scheduled: jobs / 500) }

    /// The number of the last job that has begun.
    var begun: Int { jobs - waiting - scheduled }
    /// The number of users that have jobs.
    var users: Int { max(jobs / 50, 20) }

    /// The jobs of a month, counted from the first one.
    func numbers(ofMonth place: Int) -> ClosedRange<Int> {
      let first = place * begun / months + 1
      return first...(place == months - 1 ? jobs : (place + 1) * begun / months)
    }

    /// The number of a dead job, at a place among them counted from zero.
    func dead(_ place: Int) -> Int { place * deadOneIn + 1 }
    /// How many jobs died.
    var deadCount: Int { (begun + deadOneIn - 1) / deadOneIn }
  }

  let shape: Shape
  /// The months, the present one the last.
  let months: [Period]

  /// The present month.
  var month: Period { months[months.count - 1] }
  /// How many jobs there are, numbered from 1.
  var jobs: Int { shape.jobs }

  /// How long one statement of a large planting may take.
  static let patience = Duration.seconds(3600)

  /// Plants jobs into an empty database that has the schema.
  static func plant(_ shape: Shape, in database: ConnectionPool) async throws -> PlantedJobs {
    let label = try await database.query("SELECT analysis.period_of(now(), 'UTC')").single().int16(0)
    let months = try (0..<shape.months).map { place in
      guard let month = Period(label: label - Int16(shape.months - 1 - place)) else {
        throw BenchmarkError("\(label) is no month")
      }
      return month
    }
    let planted = PlantedJobs(shape: shape, months: months)
    _ = try await database.query(
      "SELECT analysis.ensure_partitions($1, $2)", [.int16(months[0].label), .int16(label)])
    try await planted.plant(in: database)
    _ = try await database.query("VACUUM (ANALYZE)", deadline: patience)
    return planted
  }

  private func plant(in database: ConnectionPool) async throws {
    var statements = [accounts]
    for (place, month) in months.enumerated() {
      statements += [jobs(of: month, shape.numbers(ofMonth: place)), results(of: month)]
    }
    statements += [usage, dead, attempts, ready, scheduled, running]
    for statement in statements {
      _ = try await database.query(
        SQLStatement(statement, [], label: "planting jobs"), deadline: Self.patience)
    }
  }
}

// MARK: - The statements

extension PlantedJobs {
  /// The users: of the clinics in turn, where there are any.
  private var accounts: String {
    """
    INSERT INTO analysis.account (shard, user_id, user_ref, zone, key_salt, clinic_id)
    SELECT 0, n.id, n.name, 'UTC', sha256(n.name::bytea), c.ids[n.id % cardinality(c.ids) + 1]
    FROM (
      SELECT g AS id, 'user-' || g AS name FROM generate_series(0, \(shape.users) - 1) g
      UNION ALL SELECT \(shape.users), 'user-idle') n
    CROSS JOIN (SELECT array_agg(k.id ORDER BY k.id) AS ids FROM analysis.clinic k) c
    """
  }

  /// The jobs of a month. They came one after the other, from the beginning of the month to its end or to now.
  private func jobs(of month: Period, _ numbers: ClosedRange<Int>) -> String {
    """
    INSERT INTO analysis.job (shard, period, kind, lane, id, user_id, image_id, vt, created_at, image_bytes, image_period,
      max_attempts, image_unsanitized, image_mark, closed)
    SELECT 0, \(month.label), 1, 5, g,
      CASE WHEN g % 25 = 0 THEN 0 ELSE g * 7919 % (\(shape.users) - 1) + 1 END, 1, g,
      m.since + (m.until - m.since) * ((g - \(numbers.lowerBound))::float8 / \(numbers.count)), 100,
      \(month.label), 3, false, substr(sha256(g::text::bytea), 1, 16),
      g % 5000 = 2 AND g <= \(shape.begun)
    FROM generate_series(\(numbers.lowerBound)::bigint, \(numbers.upperBound)) g
    CROSS JOIN (
      SELECT analysis.period_start(\(month.label)::smallint, 'UTC') AS since,
        least(now(), analysis.period_start(\(month.label)::smallint, 'UTC') + interval '28 days') AS until) m
    """
  }

  /// How the job `j` stands, by its number.
  private var state: String {
    """
    CASE WHEN j.id > \(shape.jobs - shape.scheduled) THEN 'scheduled' WHEN j.id > \(shape.begun) THEN 'waiting'
      WHEN j.id % \(shape.deadOneIn) = 1 THEN 'dead' WHEN j.id % 5000 = 2 THEN 'cancelled'
      WHEN j.id % 100000 = 3 AND j.period = \(month.label) THEN 'running' ELSE 'succeeded' END
    """
  }

  private func results(of month: Period) -> String {
    """
    INSERT INTO analysis.result (shard, period, kind, outcome, job_id, user_id, finished_at, attempt, calls, condition_count,
      analysis_id, conditions, endpoint, model, version, primary_id, primary_name, primary_confidence, primary_band,
      primary_normal)
    SELECT 0, j.period, 1, 2 - a.n, j.id, j.user_id, least(now(), j.created_at + interval '20 seconds'), a.n, a.n,
      CASE a.n WHEN 1 THEN c.count END, CASE a.n WHEN 1 THEN 'analysis-' || j.id END,
      CASE WHEN a.n = 0 THEN NULL WHEN c.count = 0 THEN '[]'::jsonb ELSE jsonb_build_array(jsonb_build_object(
        'id', c.id, 'name', c.id, 'confidence', c.confidence, 'band', c.band, 'normal', false)) END,
      'http://127.0.0.1:8080', 'stand-in', '1.0.0', c.id, c.id, c.confidence, c.band, c.normal
    FROM analysis.job j
    CROSS JOIN LATERAL (SELECT \(state) AS state) s
    CROSS JOIN LATERAL (SELECT CASE s.state WHEN 'succeeded' THEN 1 ELSE 0 END AS n) a
    LEFT JOIN LATERAL (
      SELECT j.id / \(shape.conditionOneIn) AS n
      WHERE a.n = 1 AND j.id % \(shape.conditionOneIn) = \(shape.conditionOneIn / 2)) k ON true
    CROSS JOIN LATERAL (
      SELECT (k.n IS NOT NULL)::int AS count, 'condition-' || k.n % 12 AS id, (k.n % 100 / 100.0)::float8 AS confidence,
        (1 + k.n % 100 / 25)::int AS band, CASE WHEN k.n IS NOT NULL THEN false END AS normal) c
    WHERE j.period = \(month.label) AND s.state IN ('succeeded', 'cancelled')
    """
  }

  /// What the submits had counted, and given back of the jobs that died or were cancelled.
  private var usage: String {
    """
    INSERT INTO analysis.usage (shard, period, user_id, used, refunded)
    SELECT 0, j.period, j.user_id, count(*) FILTER (WHERE NOT s.is_free), count(*) FILTER (WHERE s.is_free)
    FROM analysis.job j CROSS JOIN LATERAL (SELECT \(state) IN ('dead', 'cancelled') AS is_free) s
    GROUP BY j.period, j.user_id
    """
  }

  /// A third each died of a fault of the endpoint, of an image and of an answer that never came; one in a hundred of a
  /// fault that is rare.
  private var dead: String {
    """
    INSERT INTO analysis.dead (shard, period, kind, attempts, job_id, user_id, failed_at, calls, class, status, code,
      message)
    SELECT 0, j.period, 1, 3, j.id, j.user_id, least(now(), j.created_at + interval '1 minute'), 3, c.class, c.status,
      c.code, c.message
    FROM analysis.job j
    CROSS JOIN LATERAL (
      SELECT (j.id - 1) / \(shape.deadOneIn) AS place) p
    JOIN (
      VALUES (0, 'server', 500::smallint, 'SERVER_ERROR', 'The endpoint failed.'),
        (1, 'permanent', 422::smallint, 'INVALID_IMAGE', 'The image was refused.'),
        (2, 'outcome_unknown', NULL, NULL, 'No answer came within 120 s.'),
        (3, 'redirect', 302::smallint, NULL, 'The endpoint answered with a redirect.'))
      c(cause, class, status, code, message) ON c.cause = CASE WHEN p.place % 100 = 99 THEN 3 ELSE p.place % 3 END
    WHERE \(state) = 'dead'
    """
  }

  /// Three attempts of each dead job, and one of each job that is to be tried again.
  private var attempts: String {
    """
    INSERT INTO analysis.attempt_error (shard, period, attempt, calls, job_id, user_id, worker_id, at, status,
      maybe_counted, consumed, class, code, message, error_id, endpoint)
    SELECT 0, d.period, n, 1, d.job_id, d.user_id, 1, d.failed_at - (3 - n) * interval '10 seconds', d.status, false,
      true, d.class, d.code, d.message, 'error-' || d.job_id || '-' || n, 'http://127.0.0.1:8080'
    FROM analysis.dead d CROSS JOIN generate_series(1, 3) n
    UNION ALL
    SELECT 0, j.period, 1, 1, j.id, j.user_id, 1, j.created_at, 503, false, true, 'overload', 'BUSY',
      'The endpoint asks for later.', 'error-' || j.id, 'http://127.0.0.1:8080'
    FROM analysis.job j WHERE j.period = \(month.label) AND j.id % 2 = 0 AND \(state) = 'scheduled'
    """
  }

  private var ready: String {
    """
    INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
    SELECT 0, j.lane, 0, j.period, j.vt, j.id
    FROM analysis.job j WHERE j.period = \(month.label) AND \(state) = 'waiting'
    """
  }

  private var scheduled: String {
    """
    INSERT INTO analysis.scheduled (shard, lane, tries, period, run_at, job_id, user_id)
    SELECT 0, j.lane, CASE WHEN j.id % 2 = 0 THEN 1 ELSE 0 END, j.period, now() + interval '1 day', j.id, j.user_id
    FROM analysis.job j WHERE j.period = \(month.label) AND \(state) = 'scheduled'
    """
  }

  /// They are held for two days, so that no worker takes them for lost.
  private var running: String {
    """
    INSERT INTO analysis.lease (shard, lane, id, worker_id, lease_ms, deadline, job_ids, periods, tries, user_ids)
    SELECT 0, 5, 1, 1, 172800000, now() + interval '1 day', array_agg(j.id), array_agg(j.period),
      array_agg(0::smallint), array_agg(j.user_id)
    FROM analysis.job j WHERE j.period = \(month.label) AND \(state) = 'running' HAVING count(*) > 0
    """
  }
}
