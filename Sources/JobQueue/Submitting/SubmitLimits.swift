/// How much a submitter puts into one call, and how patient it is.
public struct SubmitLimits: Sendable, Equatable {
  /// Image bytes in one call, unless one image alone is larger.
  public var maximumBytes: Int
  /// Jobs in one call.
  public var maximumCount: Int
  /// How often each job may be tried, from 1 to 100.
  public var maxAttempts: Int
  /// How long one call may take.
  public var deadline: Duration
  /// How often a call is made again that the server refused for a passing reason.
  public var repeats: Int
  /// How long a call is made again and again while the server is away: over its restart, for instance.
  public var patience: Duration
  /// The least time between two notifications of the workers.
  public var notifyInterval: Duration

  /// The usual limits: 8 MB and 500 jobs a call, 10 attempts a job, 30 s, 5 repeats, 30 s of patience, 10 ms
  /// between notifications.
  public init(
    maximumBytes: Int = 8_000_000, maximumCount: Int = 500, maxAttempts: Int = 10,
    deadline: Duration = .seconds(30), repeats: Int = 5, patience: Duration = .seconds(30),
    notifyInterval: Duration = .milliseconds(10)
  ) {
    self.maximumBytes = maximumBytes
    self.maximumCount = max(1, maximumCount)
    self.maxAttempts = maxAttempts
    self.deadline = deadline
    self.repeats = repeats
    self.patience = patience
    self.notifyInterval = notifyInterval
  }
}
