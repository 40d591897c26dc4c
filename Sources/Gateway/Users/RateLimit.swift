internal import Support
internal import Synchronization

/// How much each user may ask for: what was asked is paid back evenly over a minute. A minute's worth may come at once,
/// and then as much as is paid back: in a minute up to twice what is named, in the long run no more than that.
final class RateLimit: Sendable {
  /// The time in which so much may be asked for.
  private static let window: Duration = .seconds(60)
  /// How many users are kept; of those who have paid all back nothing has to be.
  private static let most = 100_000

  /// What one photo costs; nil for no limit.
  private let interval: Duration?
  /// When each user will have paid back all.
  private let paidBackAt = Mutex<[UserKey: ContinuousClock.Instant]>([:])

  init(eachMinute: Int?) {
    interval = eachMinute.map { Self.window / max($0, 1) }
  }

  /// Takes a part of what a user may ask for.
  ///
  /// - Parameter share: How many photos it is worth.
  /// - Returns: nil where it may be done; else how long to wait.
  func take(_ share: Double, _ user: UserKey, at now: ContinuousClock.Instant) -> Duration? {
    guard let interval else { return nil }
    let cost = interval * share
    return paidBackAt.withLock { paidBackAt in
      if paidBackAt.count >= Self.most { paidBackAt = paidBackAt.filter { $0.value > now } }
      let due = max(paidBackAt[user] ?? now, now) + cost
      let wait = due - now - Self.window
      guard wait <= .zero else { return wait }
      paidBackAt[user] = due
      return nil
    }
  }

  /// Gives back what was taken for nothing.
  func giveBack(_ share: Double, _ user: UserKey) {
    guard let interval else { return }
    paidBackAt.withLock { paidBackAt in
      if let due = paidBackAt[user] { paidBackAt[user] = due - interval * share }
    }
  }
}
