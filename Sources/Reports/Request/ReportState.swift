/// Whether a month's usage may still change.
public enum ReportState: String, Sendable {
  /// The month is running, or its time of grace is not over, or nobody asked for its usage since.
  case draft
  /// The month's usage is stored as a statement and comes out the same for ever.
  case closed
}
