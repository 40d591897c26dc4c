import HTTPServing
import PostgreSQL
import Queue
import Support

/// What was found in each photo: a row an analysis. This report alone has millions of rows.
enum AnalysesReport: Report {
  /// The columns, in an order that never changes.
  static let columns: [Column] =
    [
      .identifier("job", "Job"),
      .text("user", "User"),
      .text("kind", "Type"),
    ]
    + shown("primary", "Primary") + shown("secondary", "Secondary")
    + [
      .number("conditions", "Conditions", for: .programs),
      .text("serious", "Serious"),
      .text("consult", "Consult"),
      .text("endpoint_serious", "Endpoint serious"),
      .text("endpoint_consult", "Endpoint consult"),
      .number("attempt", "Attempt", for: .programs),
      .number("calls", "Calls", for: .programs),
      .text("analysis", "Analysis", for: .programs),
      .text("endpoint", "Endpoint", for: .programs),
      .text("model", "Model", for: .programs),
      .text("answered_at", "Answered", for: .programs),
      .text("finished_at", "Finished"),
    ]

  static func put(_ row: AnalysesRow, into cells: inout [ReportCell]) {
    cells.append(.identifier(row.job.value))
    cells.append(.text(row.user))
    cells.append(.text(row.kind.rawValue))
    putFinding(row.primary, into: &cells)
    putFinding(row.secondary, into: &cells)
    cells.append(.integer(row.conditionCount))
    cells.append(ReportCell(row.isSerious))
    cells.append(ReportCell(row.advisesConsultation))
    cells.append(ReportCell(row.endpointSaysSerious))
    cells.append(ReportCell(row.endpointAdvisesConsultation))
    cells.append(.integer(row.attempt))
    cells.append(.integer(row.calls))
    cells.append(ReportCell(row.analysisID))
    cells.append(ReportCell(row.endpoint))
    cells.append(ReportCell(row.model))
    cells.append(ReportCell(row.answeredAt))
    cells.append(.time(row.finishedAt))
  }

  private static func shown(_ name: String, _ heading: String) -> [Column] {
    [
      .text("\(name)_id", heading, for: .programs),
      .text("\(name)_name", heading),
      .number("\(name)_confidence", "Confidence", for: .programs),
      .number("\(name)_percentage", "%"),
      .text("\(name)_band", "Band", for: .programs),
      .text("\(name)_normal", "Normal", for: .programs),
      .text("\(name)_mark", "Band", for: .people),
    ]
  }

  private static func putFinding(_ finding: AnalysesRow.Finding?, into cells: inout [ReportCell]) {
    guard let finding else {
      for _ in 0..<7 { cells.append(.absent) }
      return
    }
    cells.append(.text(finding.id))
    cells.append(.text(finding.name))
    cells.append(.decimal(finding.confidence.value))
    cells.append(.percentage(Int64(finding.confidence.percentage)))
    cells.append(.text(finding.band.rawValue))
    cells.append(.boolean(finding.isNormal))
    cells.append(ReportCell(ConditionMark(finding.band, isNormal: finding.isNormal)?.rawValue))
  }

  static func ask(
    _ question: ReportQuestion, of database: some Queryable, deadline: Duration,
    each: (AnalysesRow) throws -> Void
  ) async throws {
    let bounds = SQLStatement(
      SQLFunction("analyses_bounds", 2, "shard", "first_job", "last_job").text,
      [.int16(question.month.label), .text(question.reading)], label: "the bounds of the report of analyses")
    let shards = try await database.query(bounds, deadline: deadline)
    var pages: [SQLStatement] = []
    for shard in shards {
      let (number, last) = (try shard.int16("shard"), try shard.int64("last_job"))
      for first in stride(from: try shard.int64("first_job"), through: last, by: pageSpan) {
        pages.append(
          SQLStatement(
            function.text,
            [
              .int16(question.month.label), .text(question.reading), .text(question.zone), .int16(number),
              .int64(first), .int64(min(first + Int64(pageSpan) - 1, last)),
            ], label: "the report of analyses"))
      }
    }
    func pass(_ rows: Rows) async throws {
      for (number, row) in rows.enumerated() {
        // What else is to be done on the same thread, such as asking for the next page, gets its turn.
        if number.isMultiple(of: 256) { await Task.yield() }
        try each(AnalysesRow(row))
      }
    }
    guard let first = pages.first else { return }
    var rows = try await database.query(first, deadline: deadline)
    for page in pages.dropFirst() {
      // The server works on the next page while this one is written.
      async let following = database.query(page, deadline: deadline)
      try await pass(rows)
      rows = try await following
    }
    try await pass(rows)
  }

  /// How many jobs' numbers a page is of: its rows fit into what the server may keep in memory.
  private static let pageSpan = 8192

  /// The columns in the order in which they are read.
  private static let function = SQLFunction(
    "report_analyses", 6, "job_id", "user_ref", "kind", "primary_id", "primary_name", "primary_confidence",
    "primary_band", "primary_normal", "secondary_id", "secondary_name", "secondary_confidence",
    "secondary_band", "secondary_normal", "condition_count", "serious", "consult", "endpoint_serious",
    "endpoint_consult", "attempt", "calls", "analysis_id", "endpoint", "model", "answered_at",
    "answered_local", "finished_at", "finished_local")
}

struct AnalysesRow: Equatable, Sendable {
  /// A condition as far as the report shows it.
  struct Finding: Equatable, Sendable {
    let id: String
    let name: String
    let confidence: Confidence
    /// The band as it was stored with the result.
    let band: ConfidenceBand
    /// Whether it is the absence of a finding.
    let isNormal: Bool
  }

  let job: JobID
  let user: String
  let kind: AnalysisKind
  let primary: Finding?
  let secondary: Finding?
  let conditionCount: Int64
  /// By the setting `consult_from`; nil when no condition says, like the next three.
  let isSerious: Bool?
  let advisesConsultation: Bool?
  let endpointSaysSerious: Bool?
  let endpointAdvisesConsultation: Bool?
  /// The number of the attempt that brought the result.
  let attempt: Int64
  /// Calls of the endpoint for that attempt.
  let calls: Int64
  /// The answer's id at the endpoint.
  let analysisID: String?
  let endpoint: String?
  let model: String?
  /// When the endpoint says that it answered; nil when it did not say.
  let answeredAt: LocalTime?
  let finishedAt: LocalTime
}

extension AnalysesRow {
  /// Reads a row by its columns' places: of a report with very many rows nothing is looked up by name.
  fileprivate init(_ row: Row) throws {
    self.init(
      job: JobID(try row.int64(0)), user: try row.string(1), kind: try AnalysisKind(stored: row.int16(2)),
      primary: try Finding(row, at: 3), secondary: try Finding(row, at: 8),
      conditionCount: try row.int64(13), isSerious: try row.boolIfPresent(14),
      advisesConsultation: try row.boolIfPresent(15), endpointSaysSerious: try row.boolIfPresent(16),
      endpointAdvisesConsultation: try row.boolIfPresent(17), attempt: try row.int64(18),
      calls: try row.int64(19), analysisID: try row.stringIfPresent(20),
      endpoint: try row.stringIfPresent(21), model: try row.stringIfPresent(22),
      answeredAt: try row.timestampIfPresent(23).map { LocalTime($0, local: try row.timestamp(24)) },
      finishedAt: LocalTime(try row.timestamp(25), local: try row.timestamp(26)))
  }
}

extension AnalysesRow.Finding {
  /// Reads a condition from its first column on; nil where there is none.
  fileprivate init?(_ row: Row, at place: Int) throws {
    guard let id = try row.stringIfPresent(place) else { return nil }
    guard let confidence = Confidence(try row.double(place + 2)) else {
      throw ReportsError(.schema, "the database holds a confidence that is not from 0 to 1")
    }
    self.init(
      id: id, name: try row.string(place + 1), confidence: confidence,
      band: try ConfidenceBand(stored: row.int16(place + 3)),
      isNormal: try row.boolIfPresent(place + 4) ?? false)
  }
}

/// How often each condition was found: a row a condition; the normal ones stand last, marked.
enum ConditionsReport: RowReport {
  /// The columns, in an order that never changes.
  static let columns: [Column] = [
    .text("month", "Month"),
    .text("condition", "Condition"),
    .text("name", "Name"),
    .text("normal", "Normal"),
    .number("green", "Green"),
    .number("yellow", "Yellow"),
    .number("orange", "Orange"),
    .number("red", "Red"),
    .number("total", "Total"),
  ]

  static func put(_ row: ConditionsRow, into cells: inout [ReportCell]) {
    cells += [.text(row.month.description), .text(row.id), .text(row.name), .boolean(row.isNormal)]
    cells += [row.green, row.yellow, row.orange, row.red, row.total].map {
      .count($0, leastPersons: row.leastPersons)
    }
  }

  static func statement(for question: ReportQuestion) -> SQLStatement {
    SQLStatement(
      SQLFunction(
        "report_conditions", 2, "id", "name", "normal", "green", "yellow", "orange", "red", "total"
      ).text,
      [.int16(question.month.label), .text(question.reading)], label: "the report of conditions")
  }

  static func read(_ row: Row, of question: ReportQuestion, each: (ConditionsRow) throws -> Void) throws {
    try each(
      ConditionsRow(
        month: question.month, id: try row.string("id"), name: try row.string("name"),
        isNormal: try row.bool("normal"), green: try row.int64IfPresent("green"),
        yellow: try row.int64IfPresent("yellow"),
        orange: try row.int64IfPresent("orange"), red: try row.int64IfPresent("red"),
        total: try row.int64IfPresent("total"),
        leastPersons: question.leastPersons))
  }
}

/// How often one condition was found in a month, counted over all conditions of each analysis.
struct ConditionsRow: Equatable, Sendable {
  let month: Period
  let id: String
  /// The name among people; of several, the first in byte order.
  let name: String
  /// Whether it is the absence of a finding. An id that was normal at one time and a finding at another has
  /// a row for each.
  let isNormal: Bool
  let green: Int64?
  let yellow: Int64?
  let orange: Int64?
  let red: Int64?
  /// How often in all; nil, as before it: hidden, since it is of fewer persons than `leastPersons`.
  let total: Int64?
  let leastPersons: Int
}

/// The small pictures that stand for users and clinics. The rule is `UserPicture`; nothing is fetched for it.
enum PictureFiles {
  /// A user's photo, or what stands for the user where it is not at hand.
  static let user = "/usage/user-picture"
  static let logo = "/usage/logo"

  static let userRoles: [DatabaseRole] = [.administrator]
  static let logoRoles: [DatabaseRole] = [.administrator, .auditor]

  /// The picture of a user for whom a photo is known.
  static func answerUser(_ request: HTTPRequest, _ context: DashboardContext) async throws -> HTTPAnswer {
    guard let user = request.query["user"] else { throw PageFailure.invalid("No user is named.") }
    let appearance = try await UserDirectory(context.database).appearances(of: [user])[user]
    guard let appearance else {
      throw PageFailure.missing("There is no such user, or none that this login sees.")
    }
    let photo = if let url = appearance.photoURL { await context.photo(url) } else { nil as [UInt8]? }
    switch appearance.picture(photo: photo) {
    case .photo(let bytes): return .picture(bytes)
    case .logo(let sha256): return try await logo(sha256, context)
    case .initials(let initials):
      return .picture(Array(HTML.disc(of: initials).markup.utf8), "image/svg+xml")
    }
  }

  /// A logo by its hash.
  static func answerLogo(_ request: HTTPRequest, _ context: DashboardContext) async throws -> HTTPAnswer {
    try await logo(request.query["sha256"] ?? "", context)
  }

  private static func logo(_ sha256: String, _ context: DashboardContext) async throws -> HTTPAnswer {
    guard let bytes = try await ClinicDirectory(context.database).logo(sha256) else {
      throw PageFailure.missing("There is no such logo.")
    }
    return .picture(bytes)
  }
}

extension HTML {
  /// The picture of a user, before the user's name. A photo is asked for by itself, since it may not be at hand.
  static func picture(of user: UserAppearance) -> HTML {
    switch user.picture {
    case .photo: .picture(at: address(PictureFiles.user, [("user", user.reference)]))
    case .logo(let sha256): .logo(sha256)
    case .initials(let initials): .disc(of: initials)
    }
  }

  /// A clinic's logo, before the clinic's name.
  static func logo(_ sha256: String) -> HTML {
    .picture(at: address(PictureFiles.logo, [("sha256", sha256)]))
  }

  private static func picture(at address: String) -> HTML {
    "<img class=\"person\" src=\"\(address)\" alt=\"\" width=\"24\" height=\"24\" loading=\"lazy\">"
  }
}

extension HTTPAnswer {
  /// A picture, which a page of ours alone may show.
  static func picture(_ bytes: [UInt8], _ type: String = "image/jpeg") -> HTTPAnswer {
    var answer = HTTPAnswer(contentType: type, body: bytes)
    answer.headers = [("Cross-Origin-Resource-Policy", "same-origin"), ("Content-Disposition", "inline")]
    return answer
  }
}
