internal import Synchronization

/// The meeting point of a sleeping task, its timer and its cancellation: whichever comes first resumes.
final class Sleeper: Sendable {
  private enum State {
    case starting
    case waiting(CheckedContinuation<Bool, Never>, TimerToken?)
    case finished(TimerToken?)
  }

  private let state = Mutex(State.starting)

  /// The timer to drop, once it is known.
  var token: TimerToken? {
    state.withLock {
      switch $0 {
      case .starting: nil
      case .waiting(_, let token), .finished(let token): token
      }
    }
  }

  /// Keeps the continuation; false when the sleep was cancelled before it began, which resumes at once.
  func wait(_ continuation: CheckedContinuation<Bool, Never>) -> Bool {
    let begins = state.withLock { state in
      guard case .starting = state else { return false }
      state = .waiting(continuation, nil)
      return true
    }
    if !begins { continuation.resume(returning: false) }
    return begins
  }

  /// Remembers the timer; false when nobody waits for it any more.
  func keep(_ token: TimerToken) -> Bool {
    state.withLock { state in
      guard case .waiting(let continuation, _) = state else { return false }
      state = .waiting(continuation, token)
      return true
    }
  }

  /// Ends the sleep: true after its time, false by cancellation. The first call wins.
  func finish(_ completed: Bool) {
    let continuation = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      switch state {
      case .starting:
        state = .finished(nil)
        return nil
      case .waiting(let continuation, let token):
        state = .finished(token)
        return continuation
      case .finished:
        return nil
      }
    }
    continuation?.resume(returning: completed)
  }
}
