import HTTPServing
import PostgreSQL
import Queue
import Support

/// An analysis without a verdict of this login.
struct AnalysisToReview: Sendable, Equatable, RenamedColumns {
  static let columns = ["isNormal": "normal", "isSerious": "serious"]

  let job: JobID
  let user: String
  /// The user's clinic; nil for none.
  let clinic: String?
  let kind: Int16
  /// The primary condition; nil where none was found, and so of the next three.
  let condition: String?
  let confidence: Double?
  let band: Int16?
  let isNormal: Bool?
  let isSerious: Bool
  /// When it was stored, in seconds since 1970.
  let at: Double
  /// How many its shard has from this one on.
  let left: Int

  /// Where it stands: the serious ones first, of these the least certain, and those without a condition last.
  var place: ReviewPlace { ReviewPlace(isSerious: isSerious, confidence: confidence, job: job) }
}

/// Where an analysis stands in the list of what is to be reviewed.
struct ReviewPlace: Sendable, Equatable, Comparable {
  let isSerious: Bool
  let confidence: Double?
  let job: JobID

  static func < (left: Self, right: Self) -> Bool {
    (left.isSerious ? 0 : 1, left.confidence ?? 2, left.job) < (
      right.isSerious ? 0 : 1, right.confidence ?? 2, right.job
    )
  }
}

/// By what the list can be narrowed, or a condition that it is instead.
struct ReviewChoice: Sendable, Equatable, Decodable {
  /// A clinic; nil: this is a condition of a type.
  let clinic: String?
  let kind: Int16?
  let condition: String?
}

/// Which analyses are to be reviewed, as the address says it.
struct ReviewQuestion: Sendable, Equatable {
  var clinic: String?
  var kind: AnalysisKind?
  var condition: String?

  /// Reads the words of an address.
  init(_ query: FormValues) throws(PageFailure) {
    func text(_ name: String) throws(PageFailure) -> String? {
      guard let text = query[name], !text.isEmpty else { return nil }
      guard text.unicodeScalars.count <= ReviewDirectory.mostInstead else {
        throw .invalid("The \(name) has at most \(ReviewDirectory.mostInstead) characters.")
      }
      return text
    }
    clinic = try text("clinic")
    condition = try text("condition")
    guard let kind = try text("type") else { return }
    self.kind = AnalysisKind(rawValue: kind)
    guard self.kind != nil else { throw .invalid("The type is not throat or ear.") }
  }

  /// An address in which they stand.
  func address(_ path: String) -> String {
    HTML.address(path, [("clinic", clinic), ("type", kind?.rawValue), ("condition", condition)])
  }

  /// The page of one of the analyses, from which one goes on in the same list.
  func address(of job: JobID) -> String { address("/jobs/\(job)/review") }
}

extension ReviewDirectory {
  /// The analyses of which this login has given no verdict, in the order in which they are to be reviewed, and how many
  /// there are. That they are listed is recorded first. They are looked for among the newest 10,000 of each shard, and
  /// for a clinic among those of this month and the one before.
  ///
  /// - Parameter after: The list begins behind it.
  func toReview(
    _ question: ReviewQuestion, after place: ReviewPlace? = nil, limit: Int, by actor: AuditActor?
  ) async throws(JobQueueError) -> (analyses: [AnalysisToReview], count: Int) {
    let reading = try await openQueue(question, by: actor)
    let parts = try await database.run(
      try await shards.shards().map { shard in
        Statement(
          SQLFunction("review_queue", 9),
          [
            .int16(shard), .text(question.clinic), .int16(question.kind?.code), .text(question.condition),
            .bool(place?.isSerious), .double(place?.confidence), .int64(place?.job.value),
            .int32(Int32(limit)), .text(reading),
          ], as: [AnalysisToReview].self, while: "listing what is to be reviewed")
      })
    let found = parts.flatMap(\.self).sorted { $0.place < $1.place }
    return (Array(found.prefix(limit)), parts.reduce(0) { $0 + ($1.first?.left ?? 0) })
  }

  /// The clinics and conditions of the analyses that can be reviewed.
  func choices(by actor: AuditActor?) async throws(JobQueueError) -> [ReviewChoice] {
    let reading = try await openQueue(nil, by: actor)
    let parts = try await database.run(
      try await shards.shards().map { shard in
        Statement(
          SQLFunction("review_choices", 2), [.int16(shard), .text(reading)], as: [ReviewChoice].self,
          while: "asking for the conditions that were found")
      })
    return parts.flatMap(\.self)
  }

  private func openQueue(
    _ question: ReviewQuestion?, by actor: AuditActor?
  ) async throws(JobQueueError) -> String {
    try await Statement(
      SQLFunction("open_review_queue", 2), [.text(question?.clinic), .int16(question?.kind?.code)],
      as: String.self, while: "recording that analyses to review are listed"
    ).run(on: database, as: actor)
  }
}

extension DashboardContext {
  /// By what lists of reviews are narrowed, some minutes old: names of clinics, and of conditions of a type, sorted.
  func reviewChoices(_ kind: AnalysisKind? = nil) async throws -> (clinics: [String], conditions: [String]) {
    let choices = try await value(
      of: .slow("review choices", statements: 1 + shards.count) {
        try await ReviewDirectory(database, shards: shards).choices(by: actor(reason: nil))
      })
    // No page grows without end.
    func names(_ names: [String]) -> [String] {
      Array(Set(names.filter { $0.unicodeScalars.count <= 100 }).sorted().prefix(150))
    }
    return (
      names(choices.compactMap(\.clinic)),
      names(choices.filter { kind == nil || $0.kind == kind?.code }.compactMap(\.condition))
    )
  }
}

/// What is to be reviewed.
enum ToReviewPage {
  static let path = "/reviews/to-review"
  /// How many a page has: it is worked off from its first line, and others move up.
  private static let size = 50

  static let page = DashboardPage(path: path, section: .reviews, roles: JobReviews.roles) {
    request, context in
    try context.requireReviews()
    try await context.require(JobReviews.roles)
    let question = try ReviewQuestion(request.query)
    let list = try await ReviewDirectory(context.database, shards: context.shards).toReview(
      question, limit: size, by: context.actor(reason: nil))
    let choices = try await context.reviewChoices()
    return Page(
      title: "To review",
      content: """
        \(filters(question, choices.clinics, choices.conditions))
        \(begin(list.analyses.first, list.count, question))
        \(table(list.analyses, list.count, question))
        <p class="quiet">Analyses of which login \(context.login) has given no verdict: the serious ones first, of these \
        the least certain. They are looked for among the newest 10,000, and of a clinic among those of this month and the \
        one before. That they are listed is recorded in the audit. <a href="/reviews">Agreement and calibration</a></p>
        """)
  }

  private static func filters(
    _ question: ReviewQuestion, _ clinics: [String], _ conditions: [String]
  ) -> HTML {
    """
    <form class="filters" method="get" action="\(path)" aria-label="Which analyses">
    \(choice("clinic", "Clinic", clinics, question.clinic))
    \(choice("type", "Type", AnalysisKind.allCases.map(\.rawValue), question.kind?.rawValue))
    \(choice("condition", "Primary condition", conditions, question.condition))
    <p><button>Show</button> <a href="\(path)">All</a></p>
    </form>
    """
  }

  /// What was asked for stands there too, where it is not found any more.
  private static func choice(
    _ name: String, _ label: String, _ values: [String], _ chosen: String?
  ) -> HTML {
    let all = chosen.map { values.contains($0) ? values : [$0] + values } ?? values
    let options = all.map { value -> HTML in
      "<option\(value == chosen ? " selected" : "" as HTML)>\(value)</option>"
    }
    return """
      <p><label for="\(name)">\(label)</label>
      <select id="\(name)" name="\(name)"><option value="">any</option>\(options)</select></p>
      """
  }

  private static func begin(_ first: AnalysisToReview?, _ count: Int, _ question: ReviewQuestion) -> HTML? {
    first.map { first in
      """
      <p class="buttons"><a class="button" href="\(question.address(of: first.job))">Begin with the first of \
      \(count)</a></p>
      """
    }
  }

  private static func table(
    _ analyses: [AnalysisToReview], _ count: Int, _ question: ReviewQuestion
  ) -> HTML {
    var table = DataTable(
      analyses.count < count ? "The first \(analyses.count) of \(count)" : "All \(count)",
      [
        .init("Job"), .init("Primary condition"), .init("Confidence"), .init("Serious"), .init("Type"),
        .init("User"), .init("Clinic"), .init("Stored"),
      ], empty: "Nothing is to be reviewed.")
    for analysis in analyses {
      let mark = ConditionMark(
        analysis.band.flatMap { ConfidenceBand(code: $0) }, isNormal: analysis.isNormal)
      table.add([
        "<a href=\"\(question.address(of: analysis.job))\">\(analysis.job.description)</a>",
        "\(analysis.condition?.shortened(to: JobsPage.nameLength) ?? "none")",
        "\(analysis.confidence.map { HTML.confidence($0, mark) })",
        analysis.isSerious ? "<strong class=\"bad\">yes</strong>" : "",
        "\(AnalysisKind(code: analysis.kind)?.rawValue ?? "")",
        "\(analysis.user.shortened(to: JobsPage.nameLength))",
        "\(analysis.clinic?.shortened(to: JobsPage.nameLength) ?? "")", .time(analysis.at),
      ])
    }
    return table.html
  }
}
