import PostgreSQL
import Synchronization

/// What pages that stay open may cost the server, all of them together: so many statements and so much of its time in a
/// few seconds, however many browsers have them open.
///
/// What a person asks for is read at once; it is counted and never refused. What a page shows that only brings itself
/// up to date is read anew when it is its turn: that comes first which was read longest ago. Meanwhile the page is
/// answered with what was read before.
final class LiveBudget: Sendable {
  /// How many statements there may be within `span`.
  static let statements = 5
  /// How long they may take there together.
  static let serverTime: Duration = .milliseconds(20)
  /// How much of that is given out by what readings usually take: one takes longer now and then.
  private static let usualTime: Duration = .milliseconds(14)
  /// The time that is looked back at.
  static let span: Duration = .seconds(5)
  /// How old a reading is that is shown to nobody any more.
  static let oldest: Duration = .seconds(120)

  /// How often at least that is read anew which costs more than there may be within `span`, and for how long it waits for
  /// what persons ask for.
  private static let longestPause: Duration = .seconds(30)
  /// For how long a reading has its place in the line after somebody asked for it: an open page asks every 5 s, one
  /// without scripts every 10 s, and one that was closed no more.
  private static let patience: Duration = .seconds(15)
  /// Of how many readings it is known how long they took.
  private static let mostKnown = 1000
  /// Of how many times of a reading the middle one is what it takes: a connection's first reading takes longer, since
  /// the server plans its statements, and what the network held up was not the server's work.
  private static let times = 5

  /// The leave to read something once.
  struct Turn: Sendable {
    fileprivate let number: Int
    fileprivate let key: String
  }

  /// A reading that goes on, or what it has cost.
  private struct Entry {
    let count: StatementCount
    let isLive: Bool
    /// What it may come to, until it has ended.
    let expected: Cost
    var ended: (cost: Cost, until: ContinuousClock.Instant)?

    var cost: Cost { ended?.cost ?? Cost(max(expected.statements, count.statements), expected.time) }
  }

  private struct Cost {
    var statements: Int
    var time: Duration

    init(_ statements: Int = 0, _ time: Duration = .zero) {
      self.statements = statements
      self.time = time
    }

    var fits: Bool { statements <= LiveBudget.statements && time <= LiveBudget.usualTime }

    /// For how long it is looked back at.
    var span: Duration {
      let share = max(1, Double(statements) / Double(LiveBudget.statements), time / LiveBudget.serverTime)
      return min(LiveBudget.span * share, LiveBudget.longestPause)
    }

    static func += (left: inout Cost, right: Cost) {
      left.statements += right.statements
      left.time += right.time
    }
  }

  private struct Waiter {
    /// When it was read last; nil where it never was.
    let readAt: ContinuousClock.Instant?
    let cost: Cost
    let askedAt: ContinuousClock.Instant

    func isBefore(_ other: ContinuousClock.Instant?) -> Bool {
      guard let other else { return false }
      return readAt.map { $0 < other } ?? true
    }
  }

  private struct State {
    var log: [Int: Entry] = [:]
    var lastNumber = 0
    var waiting: [String: Waiter] = [:]
    /// How long each reading took the last times.
    var times: [String: [Duration]] = [:]
    /// The quickest answer so far: the way to the server and back.
    var quickest: Duration?

    /// How long a reading usually takes; zero until it was read once.
    func time(of key: String) -> Duration {
      guard let times = times[key]?.sorted(), !times.isEmpty else { return .zero }
      return times[(times.count - 1) / 2]
    }

    mutating func forget(before now: ContinuousClock.Instant) {
      log = log.filter { _, entry in entry.ended.map { now < $0.until } ?? true }
      waiting = waiting.filter { now - $0.value.askedAt < LiveBudget.patience }
    }
  }

  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.now = now
  }

  /// The leave to read something; nil for a page that only brings itself up to date where it is not its turn. Who
  /// gets it reads by `run`.
  ///
  /// - Parameters:
  ///   - statements: How many statements it takes at most.
  ///   - readAt: When it was read last; nil where it never was.
  func turn(
    for visit: Visit, _ key: String, atMost statements: Int, readAt: ContinuousClock.Instant?
  ) -> Turn? {
    let now = now()
    return state.withLock { state in
      state.forget(before: now)
      let cost = Cost(statements, state.time(of: key))
      if visit.isLive {
        let before = state.waiting.filter { $0.key != key && $0.value.isBefore(readAt) }.map(\.value.cost)
        let isLate = readAt.map { now - $0 >= Self.longestPause } ?? true
        let others = state.log.values.filter { $0.isLive || !isLate }.map(\.cost) + before
        let sum = others.reduce(into: cost) { $0 += $1 }
        // What alone costs more is read when nothing else is.
        guard sum.fits || others.isEmpty else {
          state.waiting[key] = Waiter(readAt: readAt, cost: cost, askedAt: now)
          return nil
        }
      }
      state.waiting[key] = nil
      state.lastNumber += 1
      state.log[state.lastNumber] = Entry(
        count: StatementCount(now: self.now), isLive: visit.isLive, expected: cost)
      return Turn(number: state.lastNumber, key: key)
    }
  }

  /// Reads what there is leave to read, and counts it.
  func run<Value>(_ turn: Turn, _ read: () async throws -> Value) async rethrows -> Value {
    let count = state.withLock { $0.log[turn.number]?.count }
    defer { end(turn) }
    return try await StatementCount.$current.withValue(count) { try await read() }
  }

  /// Counts what a request has read beside the readings that have a turn of their own, which is a person's.
  func counting<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    guard let turn = turn(for: .person, "", atMost: 0, readAt: nil) else { return try await body() }
    return try await run(turn, body)
  }

  private func end(_ turn: Turn) {
    let now = now()
    state.withLock { state in
      guard let entry = state.log[turn.number] else { return }
      let (statements, times) = (entry.count.statements, entry.count.times)
      guard statements > 0 else {
        state.log[turn.number] = nil
        return
      }
      let quickest = (times + [state.quickest].compactMap { $0 }).min() ?? .zero
      state.quickest = quickest
      let time = times.reduce(.zero) { $0 + ($1 - quickest) }
      if state.times.count >= Self.mostKnown { state.times = [:] }
      state.times[turn.key] = ((state.times[turn.key] ?? []) + [time]).suffix(Self.times)
      let usual = Cost(statements, state.time(of: turn.key))
      let until = now + (entry.isLive ? usual.span : Self.span)
      state.log[turn.number]?.ended = (Cost(statements, time), until)
    }
  }
}
