internal import Synchronization

/// Wakes a waiting task, the one that has waited longest; a ring while nobody waits is kept, and several
/// such are one.
public final class Bell: Sendable {
  private struct Waiter {
    let number: UInt64
    let continuation: CheckedContinuation<Void, Never>
    var timer: TimerToken?
  }

  private struct State {
    var rung = false
    var waiters: [Waiter] = []
    var lastNumber: UInt64 = 0
  }

  private let loop: EventLoop
  private let state = Mutex(State())

  /// A bell that has not been rung.
  public init(loop: EventLoop) {
    self.loop = loop
  }

  /// Wakes who has waited longest, or the next to wait.
  public func ring() {
    let first = state.withLock { state -> Waiter? in
      state.rung = state.waiters.isEmpty
      return state.waiters.isEmpty ? nil : state.waiters.removeFirst()
    }
    if let first { wake(first) }
  }

  /// Returns at a ring, after the time, or when the task is cancelled, whichever comes first.
  public func wait(atMost duration: Duration? = nil) async {
    let number = state.withLock { state in
      state.lastNumber &+= 1
      return state.lastNumber
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard begin(number, continuation) else {
          continuation.resume()
          return
        }
        if let duration { setTimer(duration, for: number) }
      }
    } onCancel: {
      end(number)
    }
  }

  /// Queues the continuation; false when there is nothing to wait for.
  private func begin(_ number: UInt64, _ continuation: CheckedContinuation<Void, Never>) -> Bool {
    state.withLock { state in
      // Cancelled before the wait began: its handler has run already and found nobody.
      if state.rung || Task.isCancelled {
        state.rung = false
        return false
      }
      state.waiters.append(Waiter(number: number, continuation: continuation))
      return true
    }
  }

  private func setTimer(_ duration: Duration, for number: UInt64) {
    onLoop { [loop, self] in
      let token = loop.schedule(after: duration) { [weak self] in self?.end(number) }
      let isWaiting = self.state.withLock { state in
        guard let index = state.waiters.firstIndex(where: { $0.number == number }) else { return false }
        state.waiters[index].timer = token
        return true
      }
      if !isWaiting { loop.cancel(token) }
    }
  }

  private func end(_ number: UInt64) {
    let waiter = state.withLock { state -> Waiter? in
      guard let index = state.waiters.firstIndex(where: { $0.number == number }) else { return nil }
      return state.waiters.remove(at: index)
    }
    if let waiter { wake(waiter) }
  }

  private func wake(_ waiter: Waiter) {
    waiter.continuation.resume()
    guard let timer = waiter.timer else { return }
    onLoop { [loop] in loop.cancel(timer) }
  }

  private func onLoop(_ body: @escaping @Sendable () -> Void) {
    if loop.isCurrent { body() } else { loop.execute(body) }
  }
}

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
