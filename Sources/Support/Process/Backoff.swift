/// How long to wait before another attempt: exponential, with full jitter, so that many clients that failed
/// together do not come back together.
public struct Backoff: Sendable, Equatable {
  /// The longest wait before the second attempt.
  public let base: Duration
  /// The longest wait of all.
  public let cap: Duration

  /// Makes a policy; negative lengths count as zero.
  public init(base: Duration, cap: Duration) {
    self.base = max(base, .zero)
    self.cap = max(cap, .zero)
  }

  /// The longest wait after the given number of failed attempts (from 1): the base, doubled for each further
  /// one, up to the cap.
  public func ceiling(attempt: Int) -> Duration {
    var ceiling = base
    var left = max(attempt, 1) - 1
    while left > 0, ceiling != .zero, ceiling < cap {
      ceiling *= 2
      left -= 1
    }
    return min(ceiling, cap)
  }

  /// A wait drawn evenly from zero to the ceiling, in whole microseconds.
  public func delay(attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    .microseconds(Int64.random(in: 0...max(ceiling(attempt: attempt).microseconds, 0), using: &generator))
  }
}
