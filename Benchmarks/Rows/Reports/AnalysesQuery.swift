import BenchmarkKit
import Support

/// The rows of the report as `psql` can copy them: in the same order, by a query of the tables on one line.
enum AnalysesQuery {
  /// The words of `\copy` that write a month's analyses to a file.
  ///
  /// - Throws: `BenchmarkError` when `path` cannot be quoted.
  static func copy(_ month: Period, to path: String) throws -> String {
    guard !path.contains("'"), !path.contains("\\") else { throw BenchmarkError("\(path) cannot be quoted") }
    return "\\copy (\(query(month))) TO '\(path)' WITH (FORMAT csv, HEADER)"
  }

  static func query(_ month: Period) -> String {
    """
    SELECT r.job_id, a.user_ref, r.kind, \
    r.primary_id, r.primary_name, r.primary_confidence, r.primary_band, r.primary_normal, \
    r.secondary_id, r.secondary_name, r.secondary_confidence, r.secondary_band, r.secondary_normal, \
    r.condition_count, r.serious, r.consult, r.endpoint_serious, r.endpoint_consult, r.attempt, r.calls, r.analysis_id, r.endpoint, r.model, \
    r.answered_at, timezone(a.zone, r.answered_at) AS answered_local, \
    r.finished_at, timezone(a.zone, r.finished_at) AS finished_local \
    FROM analysis.result r JOIN analysis.account a ON a.shard = r.shard AND a.user_id = r.user_id \
    WHERE r.period = \(month.label)::smallint AND r.outcome = 1 AND r.condition_count IS NOT NULL \
    ORDER BY r.shard, r.job_id
    """
  }
}
