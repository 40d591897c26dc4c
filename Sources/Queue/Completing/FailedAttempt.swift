public import PostgreSQL
public import Support

/// An attempt that failed, to be recorded, and what is to become of the job.
public struct FailedAttempt: Sendable, Equatable {
  /// The lease under which the job ran.
  public var lease: Int64
  /// The job.
  public var job: JobID
  /// Whether and when it is tried again.
  public var decision: RetryDecision
  /// What kind of failure it was.
  public var failureClass: FailureClass
  /// The endpoint's code; nil when there was none.
  public var code: String?
  /// What happened; no secrets, no image, bounded.
  public var message: String
  /// The endpoint's number of the error; nil when there was none.
  public var errorID: String?
  /// The HTTP status; nil when there was none.
  public var status: Int?
  /// How many calls of the endpoint the attempt took.
  public var calls: Int
  /// Whether the endpoint may have counted a call that brought nothing.
  public var maybeCounted: Bool
  /// The endpoint's name; nil when none was called.
  public var endpoint: String?

  /// A failed attempt with all that is known of it.
  public init(
    lease: Int64, job: JobID, decision: RetryDecision, failureClass: FailureClass, code: String? = nil,
    message: String, errorID: String? = nil, status: Int? = nil, calls: Int = 0, maybeCounted: Bool = false,
    endpoint: String? = nil
  ) {
    self.lease = lease
    self.job = job
    self.decision = decision
    self.failureClass = failureClass
    self.code = code
    self.message = message
    self.errorID = errorID
    self.status = status
    self.calls = calls
    self.maybeCounted = maybeCounted
    self.endpoint = endpoint
  }
}

/// What the database did with a failed attempt.
public enum FailOutcome: String, Sendable, CaseIterable, ColumnValue {
  /// The job is tried again.
  case retried
  /// The job has died, and its quota unit was refunded.
  case dead
  /// The lease was gone; nothing was changed.
  case stale
  /// Somebody else's open transaction holds the job; nothing was changed, and the call is to be made again.
  case busy
}

extension FailedAttempt {
  /// The job with the lease it is held under.
  public var held: HeldJob { HeldJob(lease: lease, job: job) }

  /// Whether the job only goes back, unharmed and at once: the call is recorded, and nothing was wrong with it.
  public var isReleased: Bool { decision == .retry(after: .zero, consumes: false) }

  /// The delay in milliseconds; nil when the job is dead.
  var delayMilliseconds: Int64? {
    switch decision {
    case .retry(let after, _): milliseconds(after)
    case .dead: nil
    }
  }

  /// Whether the attempt counts. The last one always does.
  var consumes: Bool {
    switch decision {
    case .retry(_, let consumes): consumes
    case .dead: true
    }
  }
}
