package import PostgreSQL

/// SQL that makes the partitions of months that may be long ago, whose clocks are settled: as the schema's own function
/// does, without its bound.
package func makingMonths(_ months: ClosedRange<Int16>) -> String {
  """
  DO $months$
  DECLARE v_function text := pg_get_functiondef('analysis.ensure_partitions'::regproc);
  BEGIN
    EXECUTE replace(v_function, 'p_from >= v_present - 36', 'true');
    PERFORM analysis.ensure_partitions(\(months.lowerBound)::smallint, \(months.upperBound)::smallint);
    EXECUTE v_function;
  END $months$;
  """
}

/// What lets planted jobs wait in the queue that have neither a result nor died, and no others.
package let queueingPlantedJobs = """
  DELETE FROM analysis.ready;
  INSERT INTO analysis.ready (shard, lane, tries, period, vt, job_id)
  SELECT j.shard, j.lane, 0, j.period, j.vt, j.id FROM analysis.job j
  WHERE NOT EXISTS (SELECT FROM analysis.dead d WHERE d.shard = j.shard AND d.job_id = j.id)
    AND NOT EXISTS (
      SELECT FROM analysis.result r WHERE r.shard = j.shard AND r.period = j.period AND r.job_id = j.id);
  """

extension QueueFixture {
  /// Rescues at once, without the grace after the server's start; leases, jobs queued again, dead jobs.
  package func rescue(limit: Int32 = 1000) async throws -> [Int] {
    let row = try await pool.query(
      "SELECT o_leases, o_requeued, o_dead FROM analysis.rescue(0::smallint, $1, 0)", [.int32(limit)]
    ).single()
    return [try row.int(0), try row.int(1), try row.int(2)]
  }

  /// Lets every lease run out, as time would.
  package func expireLeases() async throws {
    try await execute("UPDATE analysis.lease SET deadline = '-infinity'")
  }

  package func promote(limit: Int32 = 1000) async throws -> Int {
    try await number("SELECT analysis.promote(0::smallint, $1)", [.int32(limit)])
  }

  package func applyRefunds(limit: Int32 = 1000) async throws -> Int {
    try await number("SELECT analysis.apply_refunds(0::smallint, $1)", [.int32(limit)])
  }

  package func cancel(_ jobs: [Int64], on queryable: (any Queryable)? = nil) async throws -> [Int64: String] {
    let rows = try await (queryable ?? pool).query(
      "SELECT o_job, o_outcome FROM analysis.cancel(0::smallint, $1)", [.array(jobs)])
    return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.int64(0), try $0.string(1)) })
  }

  package func retryDead(_ jobs: [Int64]) async throws -> [Int64: String] {
    let rows = try await pool.query(
      "SELECT o_job, o_outcome FROM analysis.retry_dead(0::smallint, $1)", [.array(jobs)])
    return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.int64(0), try $0.string(1)) })
  }

  package func uncancel(_ jobs: [Int64], on queryable: (any Queryable)? = nil) async throws -> [Int64: String]
  {
    let rows = try await (queryable ?? pool).query(
      "SELECT o_job, o_outcome FROM analysis.uncancel(0::smallint, $1)", [.array(jobs)])
    return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.int64(0), try $0.string(1)) })
  }

  /// Erases a user, with the jobs that are open.
  package func erase(_ user: String, on queryable: (any Queryable)? = nil) async throws {
    _ = try await (queryable ?? pool).query(
      "SELECT o_user FROM analysis.erase_user(0::smallint, $1, NULL, true)", [.text(user)])
  }

  /// Publishes marks as if the last time were long ago; answers where to scan from.
  package func tick(_ marks: [Int16: Int64], aged: Bool = true) async throws -> [Int16: Int64] {
    if aged {
      try await execute("UPDATE analysis.lane_clock SET at = '-infinity', staged_at = '-infinity'")
    }
    let rows = try await pool.query(
      "SELECT o_lane, o_scan_from FROM analysis.tick(0::smallint, $1, $2)",
      [.array(Array(marks.keys)), .array(Array(marks.values))])
    return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.int16(0), try $0.int64(1)) })
  }
}
