import Synchronization

/// Seconds since 1970 that stand still until a test moves them.
final class ManualClock: Sendable {
  private let seconds = Mutex(1_800_000_000.0)

  var now: Double { seconds.withLock { $0 } }

  func advance(_ seconds: Double) { self.seconds.withLock { $0 += seconds } }
}
