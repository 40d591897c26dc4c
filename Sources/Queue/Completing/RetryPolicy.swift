public import Support

/// What becomes of a job after a failed attempt.
public enum RetryDecision: Sendable, Equatable {
  /// It is tried again after a delay; `consumes` says whether the attempt counts.
  case retry(after: Duration, consumes: Bool)
  case dead
}

/// When a failed attempt is tried again: exponential backoff with full jitter, by the class of failure.
public struct RetryPolicy: Sendable, Equatable {
  /// The longest delay after the first attempt.
  var base: Duration
  /// The longest delay after any attempt.
  var cap: Duration
  /// The longest delay of an attempt that did not count, which therefore does not grow.
  var freeCap: Duration
  /// The longest time that an endpoint may ask for.
  var maximumRetryAfter: Duration

  /// The usual delays: up to 1 s after the first attempt, doubled with each, up to 10 minutes; up to
  /// 10 s after an attempt that did not count; an endpoint may ask for up to an hour.
  public init(
    base: Duration = .seconds(1), cap: Duration = .seconds(600), freeCap: Duration = .seconds(10),
    maximumRetryAfter: Duration = .seconds(3600)
  ) {
    self.base = base
    self.cap = cap
    self.freeCap = freeCap
    self.maximumRetryAfter = maximumRetryAfter
  }

  /// Decides about a failed attempt.
  ///
  /// - Parameters:
  ///   - failureClass: what kind of failure it was.
  ///   - attempt: which attempt it was, from 1.
  ///   - maxAttempts: how many the job has.
  ///   - isFinal: whether the caller knows that no repeat can help.
  ///   - consumes: whether the attempt counts; nil leaves it to the class.
  ///   - retryAfter: what the endpoint asked for; nil when it did not.
  ///   - generator: where the jitter comes from.
  public func decide(
    _ failureClass: FailureClass, attempt: Int, maxAttempts: Int, isFinal: Bool = false,
    consumes: Bool? = nil, retryAfter: Duration? = nil, using generator: inout some RandomNumberGenerator
  ) -> RetryDecision {
    if isFinal || Self.isFinal(failureClass) { return .dead }
    let consumes = consumes ?? Self.consumes(failureClass)
    if consumes, attempt >= maxAttempts { return .dead }
    if let retryAfter {
      // A little more than asked for, or all would come back in the same instant.
      let asked = min(max(retryAfter, .zero), maximumRetryAfter)
      return .retry(
        after: asked + Backoff(base: base, cap: base).delay(attempt: 1, using: &generator), consumes: consumes
      )
    }
    let backoff = consumes ? Backoff(base: base, cap: cap) : Backoff(base: freeCap, cap: freeCap)
    return .retry(after: backoff.delay(attempt: attempt, using: &generator), consumes: consumes)
  }

  /// The longest delay after an attempt: the base doubled for each attempt before it, up to the cap.
  func ceiling(attempt: Int) -> Duration {
    Backoff(base: base, cap: cap).ceiling(attempt: attempt)
  }

  /// Whether a failure of the class can never be mended by trying again.
  static func isFinal(_ failureClass: FailureClass) -> Bool {
    switch failureClass {
    case .permanent, .redirect, .expired, .store: true
    case .notSent, .outcomeUnknown, .invalidAnswer, .credentials, .permission, .serviceLimit, .overload,
      .server, .workerLost, .image:
      false
    }
  }

  /// Whether a failure of the class counts as an attempt of the job: not when nothing was sent, when the fault
  /// is the service account's, or when the endpoint only asks for later.
  static func consumes(_ failureClass: FailureClass) -> Bool {
    switch failureClass {
    case .notSent, .credentials, .permission, .serviceLimit, .overload: false
    case .outcomeUnknown, .invalidAnswer, .permanent, .server, .redirect, .image, .expired,
      .workerLost, .store:
      true
    }
  }
}
