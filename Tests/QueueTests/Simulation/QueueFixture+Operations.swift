import PostgreSQL
import QueueTestSupport

/// The operations of a history, carried out by the database.
extension QueueFixture {
  /// Sets the simulated clock.
  func setClock(_ time: QueueModel.Time) async throws {
    _ = try await pool.query(
      "UPDATE analysis.simulated_clock SET at = to_timestamp($1::bigint / 1000.0)", [.int64(time)])
  }

  func apply(_ operation: QueueOperation, at now: QueueModel.Time) async throws -> QueueOutcome {
    switch operation {
    case .submit(let asks, let maxAttempts): return .answers(try await submit(asks, maxAttempts: maxAttempts))
    case .claim(let worker, let lease, let lanes, let count, let leaseDuration):
      return .claimed(
        try await claim(
          Int32(count), worker: worker, lease: lease, lanes: lanes.map(\.lane), froms: lanes.map(\.from),
          limits: lanes.map { Int32($0.limit) }, leaseDuration: Int32(leaseDuration)))
    case .heartbeat(let worker, let leases, let leaseDuration):
      return .held(try await heartbeat(leases, worker: worker, leaseDuration: Int32(leaseDuration)))
    case .complete(let worker, let leases, let jobs):
      return .held(try await complete(jobs, worker: worker, leases: leases))
    case .fail(let worker, let leases, let jobs, let delay, let consumes, let failureClass):
      return .verdicts(
        try await fail(
          jobs, worker: worker, leases: leases, delay: delay, consumes: consumes, failureClass: failureClass))
    case .release(let worker, let leases, let jobs, let delay):
      return .held(try await release(jobs, worker: worker, leases: leases, delay: delay))
    case .cancel(let jobs): return .verdicts(try await cancel(jobs))
    case .retryDead(let jobs): return .verdicts(try await retryDead(jobs))
    case .uncancel(let jobs): return .verdicts(try await uncancel(jobs))
    case .rescue:
      let counts = try await rescue()
      return .rescued(QueueModel.Rescued(leases: counts[0], requeued: counts[1], dead: counts[2]))
    case .promote(let limit): return .count(try await promote(limit: Int32(limit)))
    case .applyRefunds(let limit): return .count(try await applyRefunds(limit: Int32(limit)))
    case .tick(let marks): return .marks(try await tick(marks, aged: false))
    case .sweep: return .count(try await number("SELECT analysis.sweep(0::smallint)"))
    case .setPlan(let user, let plan, let from):
      _ = try await pool.query(
        "SELECT analysis.set_plan(0::smallint, $1, $2, to_timestamp($3::bigint / 1000.0))",
        [.text(user), .text(plan), .int64(from)])
    case .setLimit(let plan, let limit, let from):
      _ = try await pool.query(
        "SELECT analysis.set_plan_limit($1, $2, to_timestamp($3::bigint / 1000.0))",
        [.text(plan), .int32(limit.map { Int32($0) }), .int64(from)])
    case .setAnchor(let user, let day, let from):
      return .count(try await setAnchor(of: user, Int16(day), from: from))
    case .advance(let time): try await setClock(now + time)
    }
    return .nothing
  }

  /// In how many milliseconds each job that waits alone for its next attempt runs.
  func delays() async throws -> [Int64: QueueModel.Time] {
    let rows = try await pool.query(
      """
      SELECT job_id, (extract(epoch FROM run_at - analysis.simulated_now()) * 1000)::bigint
      FROM analysis.scheduled WHERE lane % 4 = 3
      """)
    return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.int64(0), try $0.int64(1)) })
  }

  /// From which month on an anchor holds: 0 from the beginning, -1 where it is refused.
  private func setAnchor(of user: String, _ day: Int16, from: Int16?) async throws -> Int {
    do {
      return try await number(
        "SELECT coalesce(o_from, 0)::int FROM analysis.set_period(0::smallint, $1, $2, $3)",
        [.text(user), .int16(day), .int16(from)])
    } catch {
      guard (error as? PostgreSQLError)?.sqlState == "22023" else { throw error }
      return -1
    }
  }

  /// All that the model knows too, a line for each fact, as ``QueueModel/lines`` writes it.
  func lines() async throws -> Set<String> {
    Set(
      try await texts(
        """
        SELECT format('ready %s %s %s %s %s', lane, vt, job_id, tries, period) FROM analysis.ready
        UNION ALL SELECT format('scheduled %s %s %s %s %s %s', lane, analysis.ms(run_at), job_id, tries, period, is_counted::int)
          FROM analysis.scheduled
        UNION ALL SELECT format('lease %s of %s in %s until %s: %s %s %s', b.id, (
              SELECT w FROM generate_series(1, 9) w WHERE analysis.worker_number(sha256(w::text::bytea)) = b.worker_id),
            b.lane,
            analysis.ms(b.deadline), u.job_id, u.tries, u.period)
          FROM analysis.lease b CROSS JOIN LATERAL unnest(b.job_ids, b.tries, b.periods) u(job_id, tries, period)
        UNION ALL SELECT format('job %s of %s in %s at %s: %s %s %s %s %s', id, user_id, lane, vt, period, max_attempts,
            closed::int, analysis.ms(expires_at), source) FROM analysis.job
        UNION ALL SELECT format('result %s %s %s %s', job_id, period, outcome, attempt) FROM analysis.result
        UNION ALL SELECT format('dead %s %s %s %s', job_id, period, attempts, class) FROM analysis.dead
        UNION ALL SELECT format('failures %s: %s', job_id,
            string_agg(format('%s %s %s', attempt, consumed::int, class), ', '
              ORDER BY attempt, consumed, class)) FROM analysis.attempt_error GROUP BY job_id
        UNION ALL SELECT format('refund %s %s %s', user_id, period, job_id) FROM analysis.refund
        UNION ALL SELECT format('usage %s %s %s %s %s', user_id, period, used, refunded, refused) FROM analysis.usage
          WHERE (used, refunded, refused) <> (0, 0, 0)
        UNION ALL SELECT format('place %s %s %s %s %s %s %s', user_id, lane, source, last_vt, later, tail_vt, tail_job)
          FROM analysis.fair_share
        UNION ALL SELECT format('freed %s %s %s %s %s', user_id, lane, source, sum(vt), sum(later))
          FROM analysis.freed_place GROUP BY user_id, lane, source
        UNION ALL SELECT format('clock %s %s %s %s %s', lane, now_vt, scan_from, staged, turn_user) FROM analysis.lane_clock
        UNION ALL SELECT format('key %s %s %s', user_id, job_id, period) FROM analysis.idem
        UNION ALL SELECT format('anchors of %s: %s', user_ref, (
            SELECT string_agg(format('%s %s', e / 32, e & 31), ', ' ORDER BY e) FROM unnest(anchors) e))
          FROM analysis.account WHERE anchors IS NOT NULL
        """))
  }
}
