public import PostgreSQL
import Queue
public import Support

/// What there is to say of a job in one line.
public struct JobSummary: Sendable, Equatable, RenamedColumns {
  /// It is called a job there.
  public static let columns = ["id": "job"]

  /// The job.
  public let id: JobID
  /// The shard in which it lives.
  public let shard: Int16
  /// Whose it is.
  public let user: String
  /// What is looked for.
  public let kind: AnalysisKind
  /// The lane to which it belongs.
  public let lane: Lane
  /// Where it is on its way.
  public let state: JobState
  /// The month in which it counts.
  public let period: Period
  /// When it was submitted, in seconds since 1970.
  let createdAt: Double
  /// When it runs next, or might run first, in seconds since 1970; nil for at once.
  let runAt: Double?
  /// Until when it is wanted, in seconds since 1970; nil for ever.
  let expiresAt: Double?
  /// When it ended, in seconds since 1970; nil while it has not.
  let finishedAt: Double?
  /// Attempts that count so far.
  let attempts: Int
  /// What the submitter calls the image.
  let sourceName: String?

  /// Its position in a list.
  var cursor: JobCursor { JobCursor(period: period, job: id) }
}

/// Which jobs are meant; what is nil does not matter.
public struct JobFilter: Sendable, Equatable {
  /// Whose.
  public var user: String?
  /// In which state.
  public var state: JobState?
  /// Of which month.
  public var month: Period?
  /// Of which type.
  public var kind: AnalysisKind?
  var batch: BatchID?
  /// With which reference.
  public var reference: String?
  /// Dead of which cause; jobs in other states have none.
  var cause: FailureCause?

  /// A filter; without arguments, of all jobs.
  public init(
    user: String? = nil, state: JobState? = nil, month: Period? = nil, kind: AnalysisKind? = nil,
    batch: BatchID? = nil, reference: String? = nil, cause: FailureCause? = nil
  ) {
    self.cause = cause
    self.user = user
    self.state = state
    self.month = month
    self.kind = kind
    self.batch = batch
    self.reference = reference
  }
}

/// Where a page of a list ends; the next begins behind it.
public struct JobCursor: Sendable, Hashable, Comparable, Decodable {
  /// The month of the last job.
  public let period: Period
  /// The last job.
  public let job: JobID

  /// The position behind a job.
  public init(period: Period, job: JobID) {
    self.period = period
    self.job = job
  }

  /// Whether a position comes later in a list: in an earlier month, or with a lower number.
  public static func < (left: Self, right: Self) -> Bool {
    (left.period, left.job) < (right.period, right.job)
  }
}

/// A page of a list of jobs, the latest first.
public struct JobListPage: Sendable, Equatable {
  /// The jobs.
  public let jobs: [JobSummary]
  /// Where the next page begins; nil when there is none.
  public let next: JobCursor?
  /// Whether the search stopped before the page was full, and there may be more.
  let isCutShort: Bool
}

extension JobFilter {
  /// The filter as functions of the schema take it: the document of an `analysis.job_filter`.
  var parameter: Parameter {
    let document: JSONValue = [
      "user": .text(user), "state": .text(state?.rawValue), "kind": .count(kind?.code),
      "month": .count(month?.label), "batch": .count(batch?.value), "reference": .text(reference),
      "class": .text(cause?.failureClass), "code": .text(cause?.code),
      "status": .count(cause?.status.map { Int16(clamping: $0) }), "message": .text(cause?.messageStart),
    ]
    return .jsonb(document.json)
  }
}

/// Where a page of a list ended.
enum ListPlace: Sendable, Hashable {
  /// In a list by number.
  case number(JobCursor)
  /// In a list by time.
  case time(TimeCursor)

  /// `2026-10/123`: the month and the number of the last job; or the microseconds since 1970 of its end or
  /// review, and its number.
  var text: String {
    switch self {
    case .number(let cursor): "\(cursor.period)/\(cursor.job)"
    case .time(let cursor): "\(Int64((cursor.at * 1e6).rounded()))/\(cursor.job)"
    }
  }

  /// Reads one; nil for a text that is none.
  init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let job = JobID(parts[1]) else { return nil }
    if let period = Period(parts[0]) {
      self = .number(JobCursor(period: period, job: job))
    } else if let end = Int64(parts[0]), (1_000_000_000_000...10_000_000_000_000_000).contains(end) {
      self = .time(TimeCursor(at: Double(end) / 1e6, job: job))
    } else {
      return nil
    }
  }
}

/// Where a page of a list by time ends; the next begins behind it.
public struct TimeCursor: Sendable, Hashable, Comparable {
  /// When the last job died, or was reviewed, in seconds since 1970.
  public let at: Double
  /// The last job.
  public let job: JobID

  /// Whether a position comes later in a list: of an earlier moment, or a lower number.
  public static func < (left: Self, right: Self) -> Bool {
    (left.at, left.job) < (right.at, right.job)
  }
}
