internal import Support

/// Where the client reads the time, so that tests can set it.
public struct WallClock: Sendable {
  /// Seconds since 1970.
  public var now: @Sendable () -> Double
  /// The clock for pauses, which never jumps.
  var monotonic: @Sendable () -> ContinuousClock.Instant

  /// A clock of the caller's.
  public init(
    now: @escaping @Sendable () -> Double, monotonic: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    self.now = now
    self.monotonic = monotonic
  }

  /// The machine's clocks.
  public static let system = WallClock(
    now: { UnixTime.now.secondsSince1970 },
    monotonic: { ContinuousClock.now })
}
