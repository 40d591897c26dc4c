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

  /// The verdict with the condition that it is instead: `disagree, Pharyngitis instead`.
  func text(instead: String?) -> String { instead.map { "\(rawValue), \($0) instead" } ?? rawValue }
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
  /// With `disagree`: the condition that it is instead; nil where that is not said.
  let instead: String?
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
}

/// What was said of a job at one moment.
struct ReviewRemark: Sendable, Equatable, Decodable {
  /// A verdict, or a comment.
  enum Said: Sendable, Equatable {
    /// A version of a verdict, with the condition that it is instead, and since when it is replaced by another, in
    /// seconds since 1970; nil: it is present.
    case verdict(Verdict, instead: String?, version: Int, replacedAt: Double?)
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
  private enum CodingKeys: CodingKey { case comment, verdict, instead, version, replacedAt }

  /// Reads the columns, of which those of the verdict are empty or the comment's.
  init(from decoder: any Decoder) throws {
    let row = try decoder.container(keyedBy: CodingKeys.self)
    self =
      if let comment = try row.decodeIfPresent(String.self, forKey: .comment) {
        .comment(comment)
      } else {
        .verdict(
          try row.decode(Verdict.self, forKey: .verdict),
          instead: try row.decodeIfPresent(String.self, forKey: .instead),
          version: try row.decode(Int.self, forKey: .version),
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
  /// The condition that it was instead by that verdict.
  var beforeInstead: String?
  /// The number of the comment that was added; nil: none was.
  let comment: Int?
}

/// What clinicians say of a job: a part of its page, and the action by which one says it.
enum JobReviews {
  /// The roles of which any may review, and read results and reviews, as `analysis.result_readers` has them.
  static let roles: [DatabaseRole] = [.clinician, .reviewer]

  /// How many remarks a page has, and how much of a comment: no page grows without end.
  private static let most = 20
  private static let mostCharacters = 500

  /// What was said of a job, the last remarks of many.
  static func list(_ remarks: [ReviewRemark], of job: JobID) -> HTML {
    guard !remarks.isEmpty else { return "<p class=\"empty\">Nobody has reviewed it.</p>" }
    let shown = remarks.suffix(most)
    let all: HTML =
      shown.count < remarks.count
      ? "<p class=\"quiet\">The last \(shown.count) of \(remarks.count); analysisctl reviews list --job \(job.description) shows all.</p>"
      : ""
    return "\(all)<ol class=\"timeline\">\n\(shown.map(item))</ol>"
  }

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
    return """
      <h2>Reviews</h2>
      \(list(remarks, of: job))
      <p class="buttons"><a class="button" href="/jobs/\(job.description)/review">Review…</a></p>
      """
  }

  private static func item(_ remark: ReviewRemark) -> HTML {
    let head: HTML = "\(HTML.time(remark.at)) \(remark.by)"
    switch remark.said {
    case .verdict(let verdict, let instead, _, let replacedAt):
      let text = verdict.text(instead: instead)
      return replacedAt == nil
        ? "<li>\(head): <strong class=\"\(style(verdict))\">\(text)</strong></li>\n"
        : "<li>\(head): \(text), changed later</li>\n"
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
