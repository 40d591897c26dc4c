import BenchmarkKit
import PostgreSQL

/// What a run left behind, by the server's clock: how many jobs were finished in how long.
///
/// The span runs from the moment at which the first results were stored to that of the last, and the jobs are
/// those stored after the first: so neither the worker's start nor its look for more at the end counts, nor do
/// the jobs that were finished before the clock ran.
struct ResultSpan: Sendable, Equatable {
  let jobs: Int
  let seconds: Double

  /// Reads the span of all the results of a database.
  ///
  /// - Parameter expected: How many jobs there were; fewer results mean that the worker did not do its work.
  /// - Throws: `BenchmarkError` when results are missing, or were all stored at once so that there is no span.
  static func read(_ database: ConnectionPool, expected: Int) async throws -> ResultSpan {
    let row = try await database.query(SQLStatement(sql, label: "reading the span of the results")).single()
    let all = Int(try row.int64(0))
    guard all == expected else {
      throw BenchmarkError("\(all) of \(expected) jobs have a result: see the worker's messages")
    }
    let span = ResultSpan(jobs: Int(try row.int64(1)), seconds: try row.double(2))
    guard span.jobs > 0, span.seconds > 0 else {
      throw BenchmarkError("all of \(expected) jobs were stored at once; give more jobs")
    }
    return span
  }

  private static let sql = """
    SELECT count(*), count(*) FILTER (WHERE r.finished_at > f.first),
      coalesce(extract(epoch FROM max(r.finished_at) - min(r.finished_at)), 0)::float8
    FROM analysis.result r, (SELECT min(finished_at) AS first FROM analysis.result WHERE outcome = 1) f
    WHERE r.outcome = 1
    """
}
