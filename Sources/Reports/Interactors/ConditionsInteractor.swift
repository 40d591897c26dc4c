import AnalysisCore
import PostgreSQL

/// Asks how often each condition was found.
struct ConditionsInteractor: RowInteractor {
  typealias Response = ConditionsResponse

  static func statement(for question: ReportQuestion) throws(ReportsError) -> SQLStatement {
    try ReportStatement.conditions.with(.int16(question.month.label), .text(question.reading))
  }

  init(_ first: Row) {}

  func read(_ row: Row, each: (ConditionsResponse) throws -> Void) throws {
    try each(
      ConditionsResponse(
        month: try row.month("period"), id: try row.string("id"), name: try row.string("name"),
        isNormal: try row.bool("normal"), green: try row.int64("green"), yellow: try row.int64("yellow"),
        orange: try row.int64("orange"), red: try row.int64("red"), total: try row.int64("total")))
  }
}
