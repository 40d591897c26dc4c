import AnalysisCore
import PostgreSQL

/// Asks what was found in each photo.
struct AnalysesInteractor: ReportInteractor {
  static func statement(for question: ReportQuestion) throws(ReportsError) -> SQLStatement {
    try ReportStatement.analyses.with(.int16(question.month.label), .text(question.zone))
  }

  /// The statement's columns, in the order in which they are read.
  private static let columns =
    ["job_id", "user_ref", "kind"] + finding("primary") + finding("secondary") + [
      "condition_count", "serious", "consult", "attempt", "calls", "analysis_id", "endpoint", "model",
      "answered_at", "answered_local", "finished_at", "finished_local",
    ]

  private static func finding(_ name: String) -> [String] {
    ["id", "name", "confidence", "band", "normal"].map { "\(name)_\($0)" }
  }

  private let layout: RowLayout

  init(_ first: Row) throws {
    layout = try RowLayout(Self.columns, of: first)
  }

  func read(_ row: Row, each: (AnalysesResponse) throws -> Void) throws {
    var fields = FieldReader(row, layout)
    // Swift evaluates the arguments from left to right, as the columns come.
    try each(
      AnalysesResponse(
        job: JobID(try fields.int64()), user: try fields.text(), kind: try fields.kind(),
        primary: try fields.finding(), secondary: try fields.finding(),
        conditionCount: try fields.int64(), isSerious: try fields.boolIfPresent() ?? false,
        recommendsConsultation: try fields.boolIfPresent() ?? false, attempt: try fields.int64(),
        calls: try fields.int64(), analysisID: try fields.textIfPresent(),
        endpoint: try fields.textIfPresent(), model: try fields.textIfPresent(),
        answeredAt: try fields.localTimeIfPresent(), finishedAt: try fields.localTime()))
  }
}
