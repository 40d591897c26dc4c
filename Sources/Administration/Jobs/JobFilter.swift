public import AnalysisCore

/// Which jobs are meant; what is nil does not matter.
public struct JobFilter: Sendable, Equatable {
  /// Whose.
  public var user: String?
  /// In which state.
  public var state: JobState?
  /// Of which month.
  public var month: Period?
  /// Of which kind.
  public var kind: AnalysisKind?

  /// A filter; without arguments, of all jobs.
  public init(
    user: String? = nil, state: JobState? = nil, month: Period? = nil, kind: AnalysisKind? = nil
  ) {
    self.user = user
    self.state = state
    self.month = month
    self.kind = kind
  }
}

/// Where a page of a list ends; the next begins behind it.
public struct JobCursor: Sendable, Hashable, Comparable {
  /// The month of the last job.
  public let period: Period
  /// The last job.
  public let job: JobID

  /// The place behind a job.
  public init(period: Period, job: JobID) {
    self.period = period
    self.job = job
  }

  /// Whether a place comes later in a list: in an earlier month, or with a lower number.
  public static func < (left: Self, right: Self) -> Bool {
    (left.period, left.job) < (right.period, right.job)
  }
}

/// A page of a list of jobs, the latest first.
public struct JobPage: Sendable, Equatable {
  /// The jobs.
  public let jobs: [JobSummary]
  /// Where the next page begins; nil when there is none.
  public let next: JobCursor?
  /// Whether the search stopped before the page was full, and there may be more.
  public let isCutShort: Bool
}
