public import AnalysisCore

/// A month that is over, and for whose statement somebody may be waiting.
public struct DueMonth: Sendable, Equatable {
  /// The month.
  public let month: Period
  /// Whether a usage report of it is a statement: it is closed, or its time of grace is over and reporting
  /// it closes it.
  public let canBeStated: Bool
}
