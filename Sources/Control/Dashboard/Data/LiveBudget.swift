import Synchronization

/// How many statements pages that stay open may cost the server, all of them together, however many browsers have them
/// open.
///
/// What a person asks for is read at once; it is counted and never refused. What a page shows that only brings itself
/// up to date is read anew when it is its turn: that comes first which was read longest ago. Meanwhile the page is
/// answered with what was read before.
final class LiveBudget: Sendable {
  /// How many statements there may be within `span`.
  static let statements = 5
  /// The time that is looked back at.
  static let span: Duration = .seconds(5)
  /// How old a reading is that is shown to nobody any more.
  static let oldest: Duration = .seconds(120)

  /// For how long at most an open page waits for what persons ask for.
  private static let longestPause: Duration = .seconds(30)
  /// For how long a reading has its place in the line after somebody asked for it: an open page asks every 5 s, one
  /// without scripts every 10 s, and one that was closed no more.
  private static let patience: Duration = .seconds(15)

  private struct Waiter {
    let readAt: ContinuousClock.Instant?
    let statements: Int
    let askedAt: ContinuousClock.Instant

    func isBefore(_ other: ContinuousClock.Instant?) -> Bool {
      guard let other else { return false }
      return readAt.map { $0 < other } ?? true
    }
  }

  private struct State {
    var given: [(until: ContinuousClock.Instant, statements: Int, isLive: Bool)] = []
    var waiting: [String: Waiter] = [:]
  }

  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.now = now
  }

  /// Whether something may be read; false for a page that only brings itself up to date where it is not its turn.
  ///
  /// - Parameters:
  ///   - statements: How many statements it takes at most.
  ///   - readAt: When it was read last; nil where it never was.
  func allows(
    _ statements: Int, for key: String, readAt: ContinuousClock.Instant?, to visit: Visit
  ) -> Bool {
    let now = now()
    return state.withLock { state in
      state.given.removeAll { $0.until <= now }
      state.waiting = state.waiting.filter { now - $0.value.askedAt < Self.patience }
      if visit.isLive {
        let isLate = readAt.map { now - $0 >= Self.longestPause } ?? true
        let given = state.given.filter { $0.isLive || !isLate }.map(\.statements)
        let before = state.waiting.filter { $0.key != key && $0.value.isBefore(readAt) }
          .map(\.value.statements)
        let others = (given + before).reduce(0, +)
        // What alone takes more is read when nothing else is.
        guard others == 0 || others + statements <= Self.statements else {
          state.waiting[key] = Waiter(readAt: readAt, statements: statements, askedAt: now)
          return false
        }
      }
      state.waiting[key] = nil
      guard statements > 0 else { return true }
      let share = max(1, Double(statements) / Double(Self.statements))
      state.given.append((now + Self.span * share, statements, visit.isLive))
      return true
    }
  }
}
