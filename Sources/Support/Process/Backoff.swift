/// How long to wait before another attempt: exponential, with full jitter, so that many clients that failed
/// together do not come back together.
public struct Backoff: Sendable, Equatable {
  /// The longest wait before the second attempt.
  let base: Duration
  /// The longest wait of all.
  let cap: Duration

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

/// The pauses between attempts that fail one after the other.
public struct RetryPauses: Sendable {
  private let backoff: Backoff
  private let least: Duration
  private var generator = SystemRandomNumberGenerator()
  /// How many attempts have failed since the last that did not.
  public private(set) var failures = 0

  /// - Parameter least: The shortest pause: a drawn one of nothing would make a spinning loop of failures.
  public init(_ backoff: Backoff, least: Duration = .milliseconds(10)) {
    self.backoff = backoff
    self.least = least
  }

  /// An attempt has failed: how long to wait before the next.
  public mutating func next() -> Duration {
    failures += 1
    return max(least, backoff.delay(attempt: failures, using: &generator))
  }

  /// An attempt has not failed.
  public mutating func reset() { failures = 0 }
}

/// Random numbers that are the same for the same start value, for tests and reproducible trials; not for
/// secrets. The algorithm is SplitMix64 (Steele, Lea and Flood, 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Starts a sequence.
  public init(seed: UInt64) {
    state = seed
  }

  /// The next number of the sequence.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
