import PostgreSQL

extension Reporter {
  /// The months that are over in every zone, from the first in which anything was used, the oldest first.
  /// Throws `unreachable`, `database` or `schema`.
  public func dueMonths() async throws(ReportsError) -> [DueMonth] {
    do {
      return try await database.query(ReportStatement.dueMonths.with(.timestamp(moment)), deadline: timeout)
        .map { row in
          DueMonth(month: try row.month("period"), canBeStated: try row.bool("is_due"))
        }
    } catch {
      throw ReportsError(wrapping: error, timeout: timeout)
    }
  }
}
