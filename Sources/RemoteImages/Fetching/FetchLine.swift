/// A line of fetches that wait for their turn, first come, first served; used inside one actor.
final class FetchLine {
  private var free: Int
  private var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []

  /// - Parameter places: How many may be at work at once.
  init(places: Int) {
    free = places
  }

  /// Takes a turn, or waits for it; false when the task was cancelled before it came.
  func enter(_ number: UInt64) async -> Bool {
    await withCheckedContinuation { continuation in
      if Task.isCancelled {
        continuation.resume(returning: false)
      } else if free > 0 {
        free -= 1
        continuation.resume(returning: true)
      } else {
        waiting.append((number, continuation))
      }
    }
  }

  /// Gives the turn to the next in line.
  func leave() {
    guard !waiting.isEmpty else {
      free += 1
      return
    }
    waiting.removeFirst().continuation.resume(returning: true)
  }

  /// Sends one away that waits; nothing happens when it does not wait (any more).
  func remove(_ number: UInt64) {
    guard let place = waiting.firstIndex(where: { $0.number == number }) else { return }
    waiting.remove(at: place).continuation.resume(returning: false)
  }
}
