import AnalysisCore
import PostgreSQL

/// Asks what was found in each photo. This report alone has millions of rows.
enum AnalysesInteractor: ReportInteractor {
  static func ask(
    _ question: ReportQuestion, of database: some Queryable, deadline: Duration,
    each: (AnalysesResponse) throws -> Void
  ) async throws {
    let bounds = try ReportStatement.analysesBounds.with(
      .int16(question.month.label), .text(question.reading))
    let shards = try await database.query(bounds, deadline: deadline)
    let page = try await Page(question, of: database, deadline: deadline)
    var queries: [String] = []
    for shard in shards {
      let (number, last) = (try shard.int16("shard"), try shard.int64("last_job"))
      for first in stride(from: try shard.int64("first_job"), through: last, by: pageSpan) {
        queries.append(page.query(number, first...min(first + Int64(pageSpan) - 1, last)))
      }
    }
    guard let first = queries.first else { return }
    var rows = try await database.copied(first, label: page.label, deadline: deadline)
    for query in queries.dropFirst() {
      // The server works on the next page while this one is written.
      async let following = database.copied(query, label: page.label, deadline: deadline)
      try await rows.forEachRow(page.layout) { fields in try each(try response(&fields)) }
      rows = try await following
    }
    try await rows.forEachRow(page.layout) { fields in try each(try response(&fields)) }
  }

  /// How many jobs' numbers a page is of: its rows fit into what the server may keep in memory.
  private static let pageSpan = 8192

  /// What is asked for each page, as PostgreSQL quotes it, since a COPY takes no parameters.
  private struct Page {
    let layout: RowLayout
    let label: String?
    private let sql: String

    init(_ question: ReportQuestion, of database: some Queryable, deadline: Duration) async throws {
      let statement = try ReportStatement.analyses.with(
        .int16(question.month.label), .text(question.reading), .text(question.zone), .int16(0), .int64(0),
        .int64(0))
      // No row, but the columns' types.
      let columns = SQLStatement(
        "SELECT * FROM (\(statement.sql)) q LIMIT 0", statement.parameters, label: statement.label)
      layout = try RowLayout(
        AnalysesInteractor.columns, of: try await database.query(columns, deadline: deadline))
      let quoted = try await database.query(
        "SELECT quote_nullable($1::text), quote_nullable($2::text)",
        [.text(question.reading), .text(question.zone)]
      ).single()
      label = statement.label
      sql = statement.sql.replacing("$1", with: "\(question.month.label)")
        .replacing("$2", with: try quoted.string(0)).replacing("$3", with: try quoted.string(1))
    }

    func query(_ shard: Int16, _ jobs: ClosedRange<Int64>) -> String {
      sql.replacing("$4", with: "\(shard)").replacing("$5", with: "\(jobs.lowerBound)")
        .replacing("$6", with: "\(jobs.upperBound)")
    }
  }

  /// The statement's columns, in the order in which they are read.
  private static let columns =
    ["job_id", "user_ref", "kind"] + finding("primary") + finding("secondary") + [
      "condition_count", "serious", "consult", "endpoint_serious", "endpoint_consult", "attempt", "calls",
      "analysis_id", "endpoint", "model", "answered_at", "answered_local", "finished_at", "finished_local",
    ]

  private static func finding(_ name: String) -> [String] {
    ["id", "name", "confidence", "band", "normal"].map { "\(name)_\($0)" }
  }

  private static func response(_ fields: inout FieldReader) throws -> AnalysesResponse {
    // Swift evaluates the arguments from left to right, as the columns come.
    AnalysesResponse(
      job: JobID(try fields.int64()), user: try fields.text(), kind: try fields.kind(),
      primary: try fields.finding(), secondary: try fields.finding(),
      conditionCount: try fields.int64(), isSerious: try fields.boolIfPresent(),
      advisesConsultation: try fields.boolIfPresent(), endpointSaysSerious: try fields.boolIfPresent(),
      endpointAdvisesConsultation: try fields.boolIfPresent(), attempt: try fields.int64(),
      calls: try fields.int64(), analysisID: try fields.textIfPresent(),
      endpoint: try fields.textIfPresent(), model: try fields.textIfPresent(),
      answeredAt: try fields.localTimeIfPresent(), finishedAt: try fields.localTime())
  }
}
