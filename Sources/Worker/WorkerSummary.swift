/// What a worker did, told when it ends.
public struct WorkerSummary: Sendable, Equatable {
  /// Results stored.
  public var completed = 0
  /// Attempts that failed and are to be tried again.
  public var retried = 0
  /// Jobs that died.
  public var dead = 0
  /// Jobs released untouched.
  public var released = 0
  /// Outcomes that came too late, after the lease had gone or the job had been cancelled; they stored nothing.
  public var stale = 0
  /// Calls made to endpoints.
  public var calls = 0
  /// When draining: what could not run before the horizon, in words; empty when the queue is empty.
  public var left: [String] = []
  /// When draining: whether jobs wait for an endpoint that is paused.
  public var isParked = false
  /// Whether outcomes could not be stored before the end; their leases run out and the jobs run again.
  public var unstored = 0
}
