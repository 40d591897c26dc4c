/// What became of a report.
public struct ReportOutcome: Sendable, Equatable {
  /// The three ends that an exit code tells apart.
  public enum Kind: Sendable, Equatable {
    /// The report was written.
    case written
    /// The file holds exactly this closed statement already, and was not touched.
    case nothingToDo
    /// The report was written as a draft although its month is over, and jobs of the month are open.
    case openJobs
  }

  /// How it ended.
  public let kind: Kind
  /// How many rows the report has, its header not counted.
  public let rows: Int
  /// Whether the month is closed.
  public let state: ReportState
  /// How many jobs of the month have neither a result nor died; counted only for a draft of a
  /// month that is over, else 0.
  public let openJobs: Int
  /// The SHA-256 of the file's bytes as hexadecimal digits; nil when a stream was written.
  public let sha256: String?
  /// Since when results of the month have been removed, in seconds since 1970: the report holds what is left of them.
  /// Nil while the month is whole, and for usage, which was stated before.
  public internal(set) var removedSince: Double?
}
