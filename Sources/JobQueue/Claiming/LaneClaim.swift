public import AnalysisCore

/// What a claim asks of one lane.
public struct LaneClaim: Sendable, Equatable {
  /// The lane.
  public var lane: Lane
  /// The virtual time from which to look.
  public var from: Int64
  /// How many jobs at most.
  public var limit: Int

  /// What to ask of a lane.
  public init(lane: Lane, from: Int64, limit: Int) {
    self.lane = lane
    self.from = from
    self.limit = limit
  }
}
