import HTTPServing
import PostgreSQL
import Queue
import Support

/// What a clinician says of an analysis.
enum Verdict: String, Sendable, CaseIterable, ColumnValue {
  /// The primary condition is right.
  case agree
  case disagree
  /// It cannot be told; counted apart.
  case unsure
}

/// A clinician's present verdict of a job's analysis.
struct Review: Sendable, Equatable, RenamedColumns {
  static let columns = ["reviewer": "by"]

  let job: JobID
  /// The month in which the job counts.
  let period: Period
  /// Whose job it is.
  let user: String
  let verdict: Verdict
  /// Which version of it this is, from 1.
  let version: Int
  /// The login of the database that gave it.
  let reviewer: String
  /// When, in seconds since 1970.
  let at: Double
  /// How many comments the job has, of whomever.
  let comments: Int

  /// Its position in a list.
  var cursor: TimeCursor { TimeCursor(at: at, job: job) }
}

/// A page of reviews, the latest first.
struct ReviewPage: Sendable, Equatable {
  let reviews: [Review]
  /// Where the next page begins; nil when there is none.
  let next: TimeCursor?
}

/// Which reviews are meant.
struct ReviewFilter: Sendable, Equatable {
  /// Only of this user's jobs.
  var user: String?
  /// Only with this verdict.
  var verdict: Verdict?
  /// Only of jobs that count in this month.
  var month: Period?

  /// A filter; what is nil narrows nothing.
  init(user: String? = nil, verdict: Verdict? = nil, month: Period? = nil) {
    self.user = user
    self.verdict = verdict
    self.month = month
  }
}

/// What was said of a job at one moment.
struct ReviewRemark: Sendable, Equatable, Decodable {
  /// A verdict, or a comment.
  enum Said: Sendable, Equatable {
    /// A version of a verdict, and since when it is replaced by another, in seconds since 1970; nil: it is present.
    case verdict(Verdict, version: Int, replacedAt: Double?)
    /// A comment, which may have several lines.
    case comment(String)
  }

  /// When, in seconds since 1970.
  let at: Double
  /// The login of the database.
  let by: String
  let said: Said
}

extension ReviewRemark.Said: Decodable {
  private enum CodingKeys: CodingKey { case comment, verdict, version, replacedAt }

  /// Reads the columns, of which those of the verdict are empty or the comment's.
  init(from decoder: any Decoder) throws {
    let row = try decoder.container(keyedBy: CodingKeys.self)
    self =
      if let comment = try row.decodeIfPresent(String.self, forKey: .comment) {
        .comment(comment)
      } else {
        .verdict(
          try row.decode(Verdict.self, forKey: .verdict), version: try row.decode(Int.self, forKey: .version),
          replacedAt: try row.decodeIfPresent(Double.self, forKey: .replacedAt))
      }
  }
}

/// What came of a review.
struct ReviewOutcome: Sendable, Equatable, Decodable {
  /// The number of the login's present verdict; 0: it has given none.
  let version: Int
  /// What the login's verdict was before; nil: it had given none.
  let before: Verdict?
  /// The number of the comment that was added; nil: none was.
  let comment: Int?

  init(version: Int, before: Verdict?, comment: Int?) {
    self.version = version
    self.before = before
    self.comment = comment
  }
}

/// What clinicians say of a job: a part of its page, and the action by which one says it.
enum JobReviews {
  /// The roles of which any may review, and read reviews.
  static let roles: [DatabaseRole] = [.clinician]

  /// How many remarks a page has, and how much of a comment: no page grows without end.
  private static let most = 20
  private static let mostCharacters = 500

  /// The reviews of a job whose result was read for this page, with a way to add one; nothing for others.
  static func html(_ detail: JobDetail, _ context: DashboardContext) async throws -> HTML {
    guard detail.result != nil, context.reviewsRefusal == nil, try await context.has(roles) else { return "" }
    let remarks: [ReviewRemark]
    do {
      remarks = try await ReviewDirectory(context.database).remarks(on: detail)
    } catch {
      // The version before had none.
      guard error.code == .schemaMissing else { throw error }
      return ""
    }
    let job = detail.summary.id
    let shown = remarks.suffix(most)
    let all: HTML =
      shown.count < remarks.count
      ? "<p class=\"quiet\">The last \(shown.count) of \(remarks.count); analysisctl reviews list --job \(job.description) shows all.</p>"
      : ""
    let list: HTML =
      remarks.isEmpty
      ? "<p class=\"empty\">Nobody has reviewed it.</p>"
      : "<ol class=\"timeline\">\n\(shown.map(item))</ol>"
    return """
      <h2>Reviews</h2>
      \(all)\(list)
      <p class="buttons"><a class="button" href="/jobs/\(job.description)/review">Review…</a></p>
      """
  }

  private static func item(_ remark: ReviewRemark) -> HTML {
    let head: HTML = "\(HTML.time(remark.at)) \(remark.by)"
    switch remark.said {
    case .verdict(let verdict, _, nil):
      return "<li>\(head): <strong class=\"\(style(verdict))\">\(verdict.rawValue)</strong></li>\n"
    case .verdict(let verdict, _, .some): return "<li>\(head): \(verdict.rawValue), changed later</li>\n"
    case .comment(let comment):
      let lines = comment.shortened(to: mostCharacters).split(
        separator: "\n", omittingEmptySubsequences: false)
      return "<li>\(head) wrote\(lines.map { line in "<br>\(String(line))" as HTML })</li>\n"
    }
  }

  private static func style(_ verdict: Verdict) -> String {
    switch verdict {
    case .agree: "good"
    case .disagree: "bad"
    case .unsure: "warn"
    }
  }

  // MARK: - The action

  static let action = DashboardAction(
    path: "/jobs/*/review", section: .jobs, roles: roles,
    confirm: { request, context in try await confirm(request, context) },
    perform: { request, context in try await perform(request, context) })

  private static func confirm(
    _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> PageConfirmation {
    try context.requireReviews()
    let job = try JobPage.job(request)
    guard let state = try await context.jobs.states([job])[job] else {
      throw PageFailure.missing("There is no job \(job), or none that login \(context.login) may see.")
    }
    guard state == .succeeded else {
      throw PageFailure(
        status: 409, title: "Not possible",
        message: "Job \(job) is \(state.rawValue), and only an analysis can be reviewed.",
        advice: "Look at the job again once it has succeeded.")
    }
    return PageConfirmation(
      title: "Review job \(job)?",
      content: """
        <p>Say whether the primary condition that was found is right. The verdict is that of login \(context.login), \
        which has one of each job: another one takes the place of the one before, which is kept. Who reviews is \
        recorded in the audit, without the verdict and the comment.</p>
        """,
      inputs: """
        <p><label for="verdict">Verdict</label>
        <select id="verdict" name="verdict">
        <option value="">only a comment</option>
        \(Verdict.allCases.map { verdict in "<option>\(verdict.rawValue)</option>" as HTML })
        </select></p>
        <p><label for="comment">Comment, for those who may read the analysis</label>
        <textarea id="comment" name="comment" rows="5" maxlength="\(ReviewDirectory.mostCharacters)"></textarea></p>
        """,
      button: "Save the review", back: "/jobs/\(job)", asksForReason: false)
  }

  private static func perform(
    _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> DashboardAction.Outcome {
    try context.requireReviews()
    let job = try JobPage.job(request)
    let name = request.form["verdict"] ?? ""
    let verdict = Verdict(rawValue: name)
    guard verdict != nil || name.isEmpty else {
      throw PageFailure.invalid("A verdict is agree, disagree or unsure.")
    }
    let comment = try comment(request)
    guard verdict != nil || comment != nil else {
      throw PageFailure.invalid("A review has a verdict or a comment.")
    }
    let outcome = try await ReviewDirectory(context.database).add(
      verdict, comment: comment, to: job, by: context.actor(reason: nil))
    let said = verdict.map { verdict in
      outcome.before == verdict ? "\(verdict.rawValue), as before" : verdict.rawValue
    }
    let parts = [said, outcome.comment == nil ? nil : "a comment was added"].compactMap(\.self)
    return .init(done: "Job \(job): \(parts.joined(separator: "; ")).", path: "/jobs/\(job)")
  }

  /// The comment, with the line ends that a browser sends as one character each; nil for none.
  private static func comment(_ request: HTTPRequest) throws -> String? {
    let text = (request.form["comment"] ?? "").replacing("\r\n", with: "\n")
    guard printable(text).contains(where: { !$0.isWhitespace }) else { return nil }
    guard text.unicodeScalars.count <= ReviewDirectory.mostCharacters else {
      throw PageFailure.invalid("A comment has at most \(ReviewDirectory.mostCharacters) characters.")
    }
    return text
  }
}

extension DashboardContext {
  /// Refuses what belongs to reviews where the product has switched them off.
  func requireReviews() throws(PageFailure) {
    guard let reviewsRefusal else { return }
    throw PageFailure(
      status: 403, title: "Switched off", message: "\(reviewsRefusal).",
      advice: "Start another dashboard with another product, or switch it on there.")
  }
}
