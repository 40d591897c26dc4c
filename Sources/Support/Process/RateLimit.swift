internal import Synchronization

/// How much each may ask for, by a key: what was asked is paid back evenly over a minute. A minute's worth may come at once,
/// and then as much as is paid back: in a minute up to twice what is named, in the long run no more than that.
public final class RateLimit<Key: Hashable & Sendable>: Sendable {
  /// The time in which so much may be asked for.
  private static var window: Duration { .seconds(60) }
  /// How many keys are kept; of those who have paid all back nothing has to be.
  private static var most: Int { 100_000 }

  /// What asking once costs; nil for no limit.
  private let interval: Duration?
  /// When each will have paid back all.
  private let paidBackAt = Mutex<[Key: ContinuousClock.Instant]>([:])

  /// A limit; nil for none.
  public init(eachMinute: Int?) {
    interval = eachMinute.map { Self.window / max($0, 1) }
  }

  /// Takes a part of what somebody may ask for.
  ///
  /// - Parameter share: How much of asking once it is worth.
  /// - Returns: nil where it may be done; else how long to wait.
  public func take(_ share: Double, _ key: Key, at now: ContinuousClock.Instant) -> Duration? {
    guard let interval else { return nil }
    let cost = interval * share
    return paidBackAt.withLock { paidBackAt in
      if paidBackAt.count >= Self.most { paidBackAt = paidBackAt.filter { $0.value > now } }
      let due = max(paidBackAt[key] ?? now, now) + cost
      let wait = due - now - Self.window
      guard wait <= .zero else { return wait }
      paidBackAt[key] = due
      return nil
    }
  }

  /// Gives back what was taken for nothing.
  public func giveBack(_ share: Double, _ key: Key) {
    guard let interval else { return }
    paidBackAt.withLock { paidBackAt in
      if let due = paidBackAt[key] { paidBackAt[key] = due - interval * share }
    }
  }
}
