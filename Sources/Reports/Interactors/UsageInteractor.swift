import AnalysisCore
import PostgreSQL

/// Asks what each user used.
struct UsageInteractor: RowInteractor {
  typealias Response = UsageResponse

  static func statement(for question: ReportQuestion) throws(ReportsError) -> SQLStatement {
    try ReportStatement.usage.with(
      .int16(question.month.label), .text(question.zone), .timestamp(question.moment))
  }

  init(_ first: Row) {}

  func read(_ row: Row, each: (UsageResponse) throws -> Void) throws {
    try each(
      UsageResponse(
        user: try row.string("user_ref"), month: try row.month("for_period"),
        line: try row.bool("is_adjustment") ? .adjustment : .month, plan: try row.stringIfPresent("plan"),
        planName: try row.stringIfPresent("plan_name"), limit: try row.int64IfPresent("monthly_limit"),
        used: try row.int64("used"), over: try row.int64("over"),
        analysed: try row.int64IfPresent("analysed"), failed: try row.int64IfPresent("failed"),
        cancelled: try row.int64IfPresent("cancelled"), refunded: try row.int64("refunded"),
        refused: try row.int64("refused"), calls: try row.int64IfPresent("calls"),
        lastReset: try row.localTime("last_reset", local: "last_reset_local"), zone: try row.string("zone")))
  }
}
