import Synchronization

@testable import Endpoint
@testable import Support

/// A clock that stands still until the test moves it.
final class ManualClock: Sendable {
  private let start = ContinuousClock.now
  private let elapsed = Mutex<Duration>(.zero)
  private let origin: Double

  /// - Parameter origin: Seconds since 1970 at the beginning.
  init(origin: Double = 1_800_000_000) {
    self.origin = origin
  }

  func advance(_ duration: Duration) {
    elapsed.withLock { $0 += duration }
  }

  var now: Double {
    origin + elapsed.withLock { $0.inSeconds }
  }

  /// The clock as the client takes it.
  var wall: WallClock {
    WallClock(now: { self.now }, monotonic: { self.start + self.elapsed.withLock { $0 } })
  }
}
