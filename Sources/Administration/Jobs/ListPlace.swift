import AnalysisCore

/// Where a page of a list ended.
public enum ListPlace: Sendable, Hashable {
  /// In a list by number.
  case number(JobCursor)
  /// In a list by the time of the end.
  case ended(FailedJobCursor)

  /// `2026-10/123`: the month and the number of the last job; or the microseconds since 1970 of its end, and its
  /// number.
  public var text: String {
    switch self {
    case .number(let cursor): "\(cursor.period)/\(cursor.job)"
    case .ended(let cursor): "\(Int64((cursor.endedAt * 1e6).rounded()))/\(cursor.job)"
    }
  }

  /// Reads one; nil for a text that is none.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let job = JobID(parts[1]) else { return nil }
    if let period = Period(parts[0]) {
      self = .number(JobCursor(period: period, job: job))
    } else if let end = Int64(parts[0]), (1_000_000_000_000...10_000_000_000_000_000).contains(end) {
      self = .ended(FailedJobCursor(endedAt: Double(end) / 1e6, job: job))
    } else {
      return nil
    }
  }
}
