import PostgreSQL
import Queue
import Support

/// What a clinician says of an analysis.
enum Verdict: String, Sendable, CaseIterable, ColumnValue {
  /// The primary condition is right.
  case agree
  /// It is not.
  case disagree
  /// It cannot be told; counted apart.
  case unsure
}

/// A clinician's present verdict of a job's analysis.
struct Review: Sendable, Equatable, RenamedColumns {
  static let columns = ["reviewer": "by"]

  /// The job.
  let job: JobID
  /// The month in which the job counts.
  let period: Period
  /// Whose job it is.
  let user: String
  /// The verdict.
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
  /// The reviews.
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
  /// What.
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

  /// An outcome.
  init(version: Int, before: Verdict?, comment: Int?) {
    self.version = version
    self.before = before
    self.comment = comment
  }
}
