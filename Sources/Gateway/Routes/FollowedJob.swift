internal import Synchronization

/// The task that follows a job for one client who listens; it ends with the client.
final class FollowedJob: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var isOver = false
  }

  private let state = Mutex(State())

  init() {}

  func begin(_ body: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      guard !state.isOver else { return }
      state.task = Task { await body() }
    }
  }

  func end() {
    let task = state.withLock { state in
      state.isOver = true
      defer { state.task = nil }
      return state.task
    }
    task?.cancel()
  }
}
