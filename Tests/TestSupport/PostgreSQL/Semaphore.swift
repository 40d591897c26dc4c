import Synchronization

/// Lets a few tasks at a time do something, first come, first served.
///
/// A task that has its turn takes no second one for what it does within it, so that none waits for itself.
public final class Semaphore: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  /// Of which turns the task has one.
  @TaskLocal private static var taken: Set<ObjectIdentifier> = []

  private let state: Mutex<State>

  /// So many may do something at a time.
  public init(_ count: Int) {
    state = Mutex(State(free: count))
  }

  /// Does something when it is its turn.
  public func take<R>(_ body: () async throws -> R) async rethrows -> R {
    let id = ObjectIdentifier(self)
    guard !Self.taken.contains(id) else { return try await body() }
    await begin()
    defer { end() }
    return try await Self.$taken.withValue(Self.taken.union([id])) { try await body() }
  }

  private func begin() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free > 0 else {
          state.waiting.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  /// Hands the turn to the one who waits longest.
  private func end() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.free += 1
      return nil
    }
    next?.resume()
  }
}
