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
