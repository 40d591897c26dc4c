/// A line of tasks that wait for their turn, first come, first served; used inside one actor.
///
/// The actor may do other things between a task's decision to wait and its turn in the line, so that all
/// that was decided on is looked at again when the turn is taken.
public final class TurnGate<Refusal: Sendable> {
  private var free: Int
  private var line: [(id: UInt64, continuation: CheckedContinuation<Refusal?, Never>)] = []
  private var closure: Refusal?

  /// - Parameter capacity: How many may be in at once.
  public init(capacity: Int = 1) {
    free = capacity
  }

  /// Takes a turn, or waits for it; what is answered is why there will be none.
  ///
  /// - Parameter refusal: Why this one is not to wait any more, if that has come up by then.
  public func enter(_ id: UInt64, unless refusal: () -> Refusal?) async -> Refusal? {
    if closure == nil, free > 0 {
      free -= 1
      return nil
    }
    return await withCheckedContinuation { continuation in
      if let refusal = closure ?? refusal() {
        continuation.resume(returning: refusal)
      } else if free > 0 {
        free -= 1
        continuation.resume(returning: nil)
      } else {
        line.append((id, continuation))
      }
    }
  }

  /// Gives the turn to the next in line.
  public func leave() {
    guard !line.isEmpty else {
      free += 1
      return
    }
    line.removeFirst().continuation.resume(returning: nil)
  }

  /// Sends one away that waits; nothing happens when it does not wait here (any more).
  public func remove(_ id: UInt64, _ refusal: Refusal) {
    guard let index = line.firstIndex(where: { $0.id == id }) else { return }
    line.remove(at: index).continuation.resume(returning: refusal)
  }

  /// Sends all away, and whoever comes later.
  public func close(_ refusal: Refusal) {
    closure = refusal
    let waiting = line
    line = []
    for (_, continuation) in waiting { continuation.resume(returning: refusal) }
  }
}
