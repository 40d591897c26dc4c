import PostgreSQL
import QueueTestSupport

@testable import Control
@testable import Queue
@testable import Support

extension QueueFixture {
  /// Closes the months that can be closed at a moment, as the timer of the reports does before a purge.
  func closeMonths(at moment: Double? = nil) async throws {
    let time = moment.map { "to_timestamp(\($0))" } ?? "now()"
    try await execute(
      "SELECT analysis.close_usage(o_period, \(time)) FROM analysis.list_months(\(time)) WHERE o_state = 'due'"
    )
  }

  /// Runs a purge at a moment, with few rows a call, so that there are several. Unless it is a dry one, the months
  /// that can be closed are closed before.
  func purge(
    at moment: Double? = nil, dry isDry: Bool = false, attempts: Int = 2, closing: Bool = true,
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) async throws -> PurgeReport {
    if closing, !isDry { try await closeMonths(at: moment) }
    var settings = Purger.Settings()
    settings.moment = moment
    settings.isDry = isDry
    settings.share = 1
    settings.chunk = 2
    settings.attempts = attempts
    return try await Purger(pool, settings).run(isStopped: isStopped)
  }

  /// The moment so long after another, by the calendar in UTC.
  func moment(_ interval: String, after moment: Double) async throws -> Double {
    try await pool.query(
      "SELECT extract(epoch FROM (to_timestamp($1) AT TIME ZONE 'UTC' + $2::text::interval) AT TIME ZONE 'UTC')::float8",
      [.double(moment), .text(interval)]
    ).single().double(0)
  }

  /// The server's time in whole seconds, so that a second before and after can be told apart.
  func wholeSecond() async throws -> Double { (try await now()).rounded(.down) }

  /// Has everything that ended end at a moment, and every image used a minute before.
  func setEnds(_ moment: Double) async throws {
    try await execute(
      """
      UPDATE analysis.result SET finished_at = to_timestamp(\(moment));
      UPDATE analysis.dead SET failed_at = to_timestamp(\(moment));
      UPDATE analysis.image SET used_at = to_timestamp(\(moment - 60)), created_at = to_timestamp(\(moment - 60))
      """)
  }

  /// Moves all that there is by so many months, as if it had been submitted then and had ended there.
  func moveBack(months: Int) async throws {
    let back = "AT TIME ZONE 'UTC' - interval '\(months) months') AT TIME ZONE 'UTC'"
    try await execute(
      """
      SELECT analysis.ensure_partitions((min(period) - \(months))::smallint, (max(period) - \(months))::smallint)
      FROM analysis.job;
      UPDATE analysis.job SET period = period - \(months), image_period = image_period - \(months),
        created_at = (created_at \(back);
      UPDATE analysis.image SET period = period - \(months), created_at = (created_at \(back), used_at = (used_at \(back);
      UPDATE analysis.result SET period = period - \(months), finished_at = (finished_at \(back);
      UPDATE analysis.attempt_error SET period = period - \(months), at = (at \(back);
      UPDATE analysis.dead SET period = period - \(months), failed_at = (failed_at \(back);
      UPDATE analysis.usage SET period = period - \(months);
      UPDATE analysis.refund SET period = period - \(months);
      UPDATE analysis.idem SET period = period - \(months);
      UPDATE analysis.ready SET period = period - \(months);
      UPDATE analysis.scheduled SET period = period - \(months);
      UPDATE analysis.account SET created_at = (created_at \(back)
      """)
  }

  /// What there is, a line for each row, of all that a purge may touch.
  func everything() async throws -> [String] {
    try await texts(
      """
      SELECT 'image ' || period || ' ' || id FROM analysis.image
      UNION ALL SELECT 'job ' || period || ' ' || id FROM analysis.job
      UNION ALL SELECT 'result ' || period || ' ' || job_id FROM analysis.result
      UNION ALL SELECT 'dead ' || period || ' ' || job_id FROM analysis.dead
      UNION ALL SELECT 'attempt ' || period || ' ' || job_id FROM analysis.attempt_error
      UNION ALL SELECT 'usage ' || period || ' ' || user_id FROM analysis.usage
      UNION ALL SELECT 'audit ' || action || ' ' || object FROM analysis.audit_entry
      UNION ALL SELECT 'month ' || period FROM analysis.partition_made
      UNION ALL SELECT 'statement ' || period FROM analysis.statement
      UNION ALL SELECT 'purged ' || period FROM analysis.purged_month
      ORDER BY 1
      """)
  }
}

extension PurgeReport {
  /// What went, a word for each line; months in which nothing was are left out.
  var words: [String] {
    lines.filter { $0.rows > 0 }.map { "\($0.kind.rawValue) \($0.rows)" + ($0.isWholeMonth ? " whole" : "") }
  }
}
