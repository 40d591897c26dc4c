internal import Support

/// The pause after a login that failed, or that brought a token which was refused at once: each doubles
/// the time until the next login, so that a wrong password is tried a few times a minute and not thousands.
struct LoginPause {
  static let first: Duration = .seconds(1)
  static let longest: Duration = .seconds(60)

  private var failure: CallFailure?
  private var until: ContinuousClock.Instant?
  private var count = 0
  private var lastRefused = 0

  /// What a caller gets who asks within the pause; nil when there is none.
  func failure(at now: ContinuousClock.Instant) -> CallFailure? {
    guard let until, now < until, var failure else { return nil }
    failure.retryAfter = until - now
    return failure
  }

  /// A new token was refused; counted once for each token.
  mutating func tokenRefused(_ generation: Int, at now: ContinuousClock.Instant) {
    guard generation > lastRefused else { return }
    lastRefused = generation
    begin(
      CallFailure(
        .credentials, "The endpoint refuses the token that it gave the service account.",
        consumesAttempt: false),
      at: now)
  }

  /// Ends the pause. The doubling is forgotten only after a quiet time, since a refusal comes after a login
  /// that succeeds.
  mutating func loginSucceeded(at now: ContinuousClock.Instant) {
    if let until, now < until + Self.longest { return }
    count = 0
    failure = nil
    until = nil
  }

  /// Begins the pause after a failure.
  mutating func begin(_ failure: CallFailure, at now: ContinuousClock.Instant) {
    self.failure = failure
    var length = Self.first
    for _ in 0..<min(count, 10) where length < Self.longest { length *= 2 }
    count += 1
    until = now + min(length, Self.longest)
  }
}
