/// Which question a report answers.
public enum ReportKind: String, Sendable, CaseIterable {
  /// What each user used of the month's quota, and by which they are billed: a row a user.
  case usage
  /// What was found in each photo: a row an analysis.
  case analyses
  /// How often each condition was found, and how surely: a row a condition.
  case conditions
  /// The month's totals: a row a number.
  case summary
}

extension ReportKind {
  /// Whether it tells what was found in people's pictures, so that it has to be recorded who reads it.
  public var hasDiagnoses: Bool { self == .analyses || self == .conditions }
}
