/// The numbers by which a worker decides which lanes to ask, and when.
public struct ClaimRules: Sendable, Equatable {
  /// Every how many claims one begins with the lanes of bulk jobs and suspects.
  public var bulkEvery: Int
  /// How long a lane that was found empty is left out while others have jobs.
  public var emptyLanePause: Duration
  /// How long a worker that found every lane empty waits, unless it is woken up.
  public var idlePoll: Duration
  /// How long a scan mark may run ahead before it falls back.
  public var fallBackInterval: Duration

  /// The usual numbers: an eighth of claims for bulk, 50 ms for an empty lane, 1 s when idle, a fall back
  /// at least every 250 ms.
  public init(
    bulkEvery: Int = 8, emptyLanePause: Duration = .milliseconds(50), idlePoll: Duration = .seconds(1),
    fallBackInterval: Duration = .milliseconds(250)
  ) {
    self.bulkEvery = max(1, bulkEvery)
    self.emptyLanePause = emptyLanePause
    self.idlePoll = idlePoll
    self.fallBackInterval = fallBackInterval
  }
}
