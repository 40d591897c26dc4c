/// The numbers by which a worker decides which lanes to ask, and when.
public struct ClaimRules: Sendable, Equatable {
  /// How many claims begin with each priority.
  public var shares: LaneShares
  /// How long a lane that was found empty is left out while others have jobs.
  public var emptyLanePause: Duration
  /// How long a scan mark may run ahead before it falls back.
  public var fallBackInterval: Duration

  /// The usual numbers: of eight claims five for urgent jobs, two for normal ones and one for bulk, 50 ms for an
  /// empty lane, a fall back at least every 250 ms.
  public init(
    shares: LaneShares = .usual, emptyLanePause: Duration = .milliseconds(50),
    fallBackInterval: Duration = .milliseconds(250)
  ) {
    self.shares = shares
    self.emptyLanePause = emptyLanePause
    self.fallBackInterval = fallBackInterval
  }
}
