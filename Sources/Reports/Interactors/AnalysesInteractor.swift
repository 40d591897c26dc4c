import AnalysisCore
import PostgreSQL

/// Asks what was found in each photo. This report alone has millions of rows.
enum AnalysesInteractor: ReportInteractor {
  static func ask(
    _ question: ReportQuestion, of database: some Queryable, deadline: Duration,
    each: (AnalysesResponse) throws -> Void
  ) async throws {
    let statement = try ReportStatement.analyses.with(.int16(question.month.label), .text(question.zone))
    // No row, but the columns' types; and the parameter as PostgreSQL quotes it, since a COPY takes none.
    let columns = SQLStatement(
      "SELECT * FROM (\(statement.sql)) q LIMIT 0", statement.parameters, label: statement.label)
    let layout = try RowLayout(Self.columns, of: try await database.query(columns, deadline: deadline))
    let zone = try await database.query("SELECT quote_nullable($1::text)", [.text(question.zone)]).single()
      .string(0)
    let query = statement.sql.replacing("$1", with: "\(question.month.label)").replacing("$2", with: zone)
    try await database.forEachCopiedRow(query, layout, label: statement.label, deadline: deadline) { fields in
      try each(try response(&fields))
    }
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

  private static func response(_ fields: inout FieldReader) throws -> AnalysesResponse {
    // Swift evaluates the arguments from left to right, as the columns come.
    AnalysesResponse(
      job: JobID(try fields.int64()), user: try fields.text(), kind: try fields.kind(),
      primary: try fields.finding(), secondary: try fields.finding(),
      conditionCount: try fields.int64(), isSerious: try fields.boolIfPresent() ?? false,
      recommendsConsultation: try fields.boolIfPresent() ?? false, attempt: try fields.int64(),
      calls: try fields.int64(), analysisID: try fields.textIfPresent(),
      endpoint: try fields.textIfPresent(), model: try fields.textIfPresent(),
      answeredAt: try fields.localTimeIfPresent(), finishedAt: try fields.localTime())
  }
}
