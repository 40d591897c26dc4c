public import Support

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

  /// The position behind a job.
  public init(at: Double, job: JobID) {
    self.at = at
    self.job = job
  }

  /// Whether a position comes later in a list: of an earlier moment, or a lower number.
  public static func < (left: Self, right: Self) -> Bool {
    (left.at, left.job) < (right.at, right.job)
  }
}
