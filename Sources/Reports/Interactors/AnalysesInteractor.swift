import AnalysisCore
import PostgreSQL

/// Asks what was found in each photo.
struct AnalysesInteractor: ReportInteractor {
  static func statement(for question: ReportQuestion) throws(ReportsError) -> SQLStatement {
    try ReportStatement.analyses.with(.int16(question.month.label), .text(question.zone))
  }

  static func read(_ row: Row, each: (AnalysesResponse) throws -> Void) throws {
    try each(
      AnalysesResponse(
        job: JobID(try row.int64("job_id")), user: try row.string("user_ref"), kind: try row.kind("kind"),
        primary: try row.finding("primary"), secondary: try row.finding("secondary"),
        conditionCount: try row.int64("condition_count"),
        isSerious: try row.boolIfPresent("serious") ?? false,
        recommendsConsultation: try row.boolIfPresent("consult") ?? false,
        attempt: try row.int64("attempt"), calls: try row.int64("calls"),
        analysisID: try row.stringIfPresent("analysis_id"), endpoint: try row.stringIfPresent("endpoint"),
        model: try row.stringIfPresent("model"),
        answeredAt: try row.localTimeIfPresent("answered_at", local: "answered_local"),
        finishedAt: try row.localTime("finished_at", local: "finished_local")))
  }
}
