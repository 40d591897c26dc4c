internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support
internal import Synchronization

/// Whether the database answers: while it does not, nobody waits for it.
///
/// It is asked by a connection of its own, and only while a call takes long: what waits behind many others is no sign.
final class DatabasePresence: Sendable {
  /// How long a call may take before the database is asked whether it is there, and between two questions.
  private static let patience: Duration = .milliseconds(300)
  /// How long it may take to answer.
  private static let limit: Duration = .seconds(1)

  fileprivate struct Call {
    let began: ContinuousClock.Instant
    let cancel: @Sendable () -> Void
  }

  fileprivate struct State {
    var isAway = false
    var isClosed = false
    var isLooking = false
    var lastNumber: UInt64 = 0
    var calls: [UInt64: Call] = [:]
    /// When it last answered a question of this: a call may be answered by what the gateway remembers.
    var seen: ContinuousClock.Instant?
  }

  private let database: ConnectionPool
  private let log: Log
  private let state = Mutex(State())

  init(_ configuration: ConnectionConfiguration, on loop: EventLoop, _ log: Log) {
    var own = configuration
    own.connectTimeout = Self.limit
    database = ConnectionPool(own, on: loop, size: 1)
    self.log = log
  }

  /// Makes calls of the database; where it goes away meanwhile they are cancelled.
  ///
  /// - Throws: `APIFailure.away` where it is away, or what the closure throws.
  func call<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
    let task = Task { try await body() }
    guard let number = begin({ task.cancel() }) else {
      task.cancel()
      throw APIFailure.away
    }
    do {
      let value = try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
      end(number)
      return value
    } catch {
      end(number)
      throw state.withLock { $0.isAway } && !(error is APIFailure) ? APIFailure.away : error
    }
  }

  /// Whether it answers now, or has within the last second.
  func answers() async -> Bool {
    let known: Bool? = state.withLock { state in
      if state.isAway || state.isClosed { return false }
      return state.seen.map { EventLoop.now - $0 < .seconds(1) } == true ? true : nil
    }
    if let known { return known }
    let isThere = await ask()
    found(isThere)
    return isThere
  }

  func close() async {
    state.withLock { $0.isClosed = true }
    await database.close()
  }

  private func ask() async -> Bool {
    do {
      _ = try await database.query("SELECT 1", deadline: Self.limit)
      return true
    } catch {
      // A server that has no connection left, say, is there. One that stops or starts is not, nor one behind a pooler.
      guard let state = error.sqlState else { return false }
      return !state.hasPrefix("57") && !state.hasPrefix("08")
    }
  }

  /// The number of a call; nil while the database is away.
  private func begin(_ cancel: @escaping @Sendable () -> Void) -> UInt64? {
    let (number, looks): (UInt64?, Bool) = state.withLock { state in
      guard !state.isAway else { return (nil, false) }
      state.lastNumber += 1
      state.calls[state.lastNumber] = Call(began: EventLoop.now, cancel: cancel)
      return (state.lastNumber, state.beginsToLook())
    }
    if looks { look() }
    return number
  }

  private func end(_ number: UInt64) {
    state.withLock { _ = $0.calls.removeValue(forKey: number) }
  }

  /// Looks as long as there are calls, or it is away.
  private func look() {
    let loop = database.loop
    Task(executorPreference: loop) {
      while (try? await loop.sleep(for: Self.patience)) != nil {
        let isNeeded: Bool? = self.state.withLock { state in
          guard !state.isClosed, state.isAway || !state.calls.isEmpty else {
            state.isLooking = false
            return nil
          }
          return state.isAway || state.calls.values.contains { EventLoop.now - $0.began >= Self.patience }
        }
        guard let isNeeded else { return }
        if isNeeded { self.found(await self.ask()) }
      }
    }
  }

  private func found(_ isThere: Bool) {
    let (hasChanged, cancelled, looks) = state.withLock { state in
      guard !state.isClosed else { return (false, [Call](), false) }
      let hasChanged = state.isAway == isThere
      state.isAway = !isThere
      if isThere { state.seen = EventLoop.now }
      let cancelled = isThere ? [] : Array(state.calls.values)
      return (hasChanged, cancelled, !isThere && state.beginsToLook())
    }
    for call in cancelled { call.cancel() }
    if looks { look() }
    guard hasChanged else { return }
    if isThere {
      log.notice("The database answers again")
    } else {
      log.warning("The database does not answer; requests are refused until it does")
    }
  }
}

extension DatabasePresence.State {
  fileprivate mutating func beginsToLook() -> Bool {
    defer { isLooking = true }
    return !isLooking
  }
}
