import PostgreSQL
import SQLFiles

/// The statements of `sql/reports`.
enum ReportStatement: String {
  case usage, analyses, conditions, summary, month, zone, timeout
  case openJobs = "open_jobs"
  case openAnalyses = "open_analyses"
  case openConditions = "open_conditions"
  case analysesBounds = "analyses_bounds"
  case closeUsage = "close_usage"
  case currentMonth = "current_month"
  case dueMonths = "due_months"

  /// The statement with its parameters. Throws `schema` when it is not compiled in.
  func with(_ parameters: Parameter...) throws(ReportsError) -> SQLStatement {
    guard let sql = SQLFiles.text("reports/\(rawValue).sql") else {
      throw ReportsError(.schema, "this program was built without the statement reports/\(rawValue).sql")
    }
    return SQLStatement(sql, parameters, label: "reports/\(rawValue)")
  }
}
