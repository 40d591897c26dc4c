import AnalysisCore
import PostgreSQL

/// Asks for a month's totals, which come as one row.
struct SummaryInteractor: RowInteractor {
  typealias Response = SummaryResponse

  static func statement(for question: ReportQuestion) throws(ReportsError) -> SQLStatement {
    try ReportStatement.summary.with(.int16(question.month.label), .timestamp(question.moment))
  }

  init(_ first: Row) {}

  func read(_ row: Row, each: (SummaryResponse) throws -> Void) throws {
    for measure in SummaryMeasure.allCases {
      try each(SummaryResponse(measure: measure, value: try row.int64(measure.rawValue)))
    }
  }
}
