import PostgreSQL
import QueueTestSupport
import TestSupport

@testable import Control
@testable import Support

extension DatabaseTemplate {
  /// The schema with the plans `basic` (5 a month) and `plus` (no limit), months from 2019 to 2021, and the clinic
  /// `north`.
  static let billing = migrated("billing") { pool in
    try await pool.execute(
      script: """
        \(makingMonths(24228...24264))
        INSERT INTO analysis.plan (id, name, display_name, created_at)
        VALUES (7, 'basic', 'Basic', '-infinity'), (8, 'plus', 'Plus', '-infinity');
        INSERT INTO analysis.plan_limit (plan_id, valid_from, monthly_limit)
        VALUES (7, '-infinity', 5), (8, '-infinity', NULL);
        SELECT analysis.add_clinic('north');
        """)
  }
}

/// What is billed, planted at fixed times.
struct Billing {
  let queue: QueueFixture

  /// Adds a user of the clinic with the plan `basic`.
  func add(_ user: String, zone: String, anchor: Int = 1) async throws {
    try await queue.execute(
      """
      SELECT analysis.add_user(0::smallint, '\(user)', 'basic', '\(zone)', NULL, NULL);
      SELECT analysis.set_period(0::smallint, '\(user)', \(anchor)::smallint, NULL);
      SELECT analysis.assign_clinic(0::smallint, '\(user)', 'north');
      UPDATE analysis.account SET created_at = '2019-01-01' WHERE user_ref = '\(user)';
      """)
  }

  func setPlan(_ user: String, _ plan: String, from: String) async throws {
    try await queue.execute("SELECT analysis.set_plan(0::smallint, '\(user)', '\(plan)', '\(from)')")
  }

  func setPrice(_ plan: String, _ price: String, _ currency: String = "EUR", from: String? = nil) async throws
  {
    let from = from.map { "'\($0)'" } ?? "NULL"
    try await queue.execute(
      "SELECT analysis.set_plan_price('\(plan)', '\(price)', '\(currency)', \(from), false)")
  }

  /// A unit of the user at each of these moments: an open job, and a count.
  func take(_ user: String, at moments: [String]) async throws {
    for moment in moments {
      try await queue.execute(
        """
        WITH meant AS (
          SELECT user_id, analysis.period_at('\(moment)', zone, anchors) AS period FROM analysis.account
          WHERE user_ref = '\(user)'),
        counted AS (
          INSERT INTO analysis.usage AS u (shard, user_id, period, used) SELECT 0, user_id, period, 1 FROM meant
          ON CONFLICT (shard, user_id, period) DO UPDATE SET used = u.used + 1)
        INSERT INTO analysis.job (shard, period, kind, lane, user_id, image_id, vt, created_at, image_bytes,
          image_period, max_attempts, image_unsanitized, image_mark)
        SELECT 0, period, 1, 5, user_id, 1, 0, '\(moment)', 1, period, 3, false, '' FROM meant;
        \(queueingPlantedJobs)
        """)
    }
  }

  /// Lets the earliest job of a user die, and gives its unit back.
  func failFirst(of user: String, at moment: String) async throws {
    try await queue.execute(
      """
      WITH first AS (
        SELECT j.* FROM analysis.job j JOIN analysis.account a USING (shard, user_id)
        WHERE a.user_ref = '\(user)' AND NOT EXISTS (
          SELECT FROM analysis.dead d WHERE d.shard = j.shard AND d.job_id = j.id)
        ORDER BY j.created_at LIMIT 1),
      counted AS (
        UPDATE analysis.usage u SET used = used - 1, refunded = refunded + 1 FROM first f
        WHERE (u.shard, u.user_id, u.period) = (f.shard, f.user_id, f.period))
      INSERT INTO analysis.dead (shard, period, kind, attempts, job_id, user_id, failed_at, calls, class, message)
      SELECT 0, period, 1, 1, id, user_id, '\(moment)', 1, 'permanent', 'refused' FROM first;
      \(queueingPlantedJobs)
      """)
  }

  /// Closes a month, long after its end.
  func close(_ month: String) async throws {
    try await queue.execute(
      """
      SELECT analysis.close_usage(\(Written.period(month).label)::smallint,
        analysis.statement_due(\(Written.period(month).label)::smallint) + interval '1 day')
      """)
  }

  func statement(
    _ month: String, _ holder: BillRequest.Holder = .clinic("north"), currency: String? = nil
  ) async throws -> Bill {
    try await Reporter(queue.pool).bill(
      BillRequest(holder, month: Written.period(month), currency: currency))
  }

  /// The lines and adjustments, each as `user plan from - until: units x price = amount`.
  func lines(_ month: String) async throws -> [String] {
    let statement = try await statement(month)
    return (statement.lines + statement.adjustments).map { line in
      let reason = line.reason.map { " (\($0))" } ?? ""
      return "\(line.user) \(line.plan?.name ?? "-") \(line.from.text) - \(line.until.text): \(line.units) x "
        + "\(line.price?.description ?? "-") = \(line.amount?.description ?? "-")\(reason)"
    }
  }
}

/// Lends a database with plans and a clinic.
func withBilling(_ body: (Billing) async throws -> Void) async throws {
  try await withQueue(from: .billing) { queue in try await body(Billing(queue: queue)) }
}
