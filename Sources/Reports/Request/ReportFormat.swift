/// How a report is written.
public enum ReportFormat: String, Sendable, CaseIterable {
  /// Aligned columns for people.
  case table
  /// Comma-separated values as RFC 4180 has them.
  case csv
  /// One JSON object with the rows and what they are.
  case json
}
