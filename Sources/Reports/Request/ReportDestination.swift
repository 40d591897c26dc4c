/// Where a report goes.
public enum ReportDestination: Sendable {
  /// A file that is written beside its place, synced and renamed into it, readable by its owner only, with
  /// a file of the same name and `.json` that says what it holds.
  case file(String)
  /// A function that takes chunks of whole lines, each valid UTF-8 by itself. What it throws ends the
  /// report.
  case stream(@Sendable (_ chunk: [UInt8]) throws -> Void)
}
