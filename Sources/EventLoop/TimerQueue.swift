/// Names one scheduled timer of one loop.
public struct TimerToken: Hashable, Sendable {
  let number: UInt64
}

/// A binary heap of timers by due time; equal times fire in the order in which they were scheduled.
///
/// A cancelled timer's action goes at once; its entry in the heap stays until it comes to the top, so
/// that cancelling, which every answered request does to its deadline, costs no search.
struct TimerQueue {
  private struct Entry {
    let due: ContinuousClock.Instant
    let number: UInt64

    func isBefore(_ other: Entry) -> Bool {
      (due, number) < (other.due, other.number)
    }
  }

  private var heap: [Entry] = []
  private var actions: [UInt64: @Sendable () -> Void] = [:]
  private var nextNumber: UInt64 = 0

  /// How many entries the heap holds, cancelled timers among them.
  var entryCount: Int { heap.count }

  /// How many timers are waiting.
  var count: Int { actions.count }

  mutating func schedule(at due: ContinuousClock.Instant, _ action: @escaping @Sendable () -> Void)
    -> TimerToken
  {
    nextNumber += 1
    actions[nextNumber] = action
    heap.append(Entry(due: due, number: nextNumber))
    siftUp(heap.count - 1)
    return TimerToken(number: nextNumber)
  }

  mutating func cancel(_ token: TimerToken) {
    actions[token.number] = nil
    // Deadlines far ahead are cancelled all the time: without this the heap would hold them till due.
    if heap.count > 64, heap.count > 4 * actions.count { compact() }
  }

  /// When the next timer is due; nil when none waits.
  mutating func nextDue() -> ContinuousClock.Instant? {
    while let first = heap.first {
      if actions[first.number] != nil { return first.due }
      removeFirst()
    }
    return nil
  }

  /// Takes out the next action that is due at `now`.
  mutating func popDue(at now: ContinuousClock.Instant) -> (@Sendable () -> Void)? {
    guard let due = nextDue(), due <= now, let first = heap.first else { return nil }
    removeFirst()
    return actions.removeValue(forKey: first.number)
  }

  private mutating func compact() {
    let live = heap.filter { actions[$0.number] != nil }
    heap = live.sorted { $0.isBefore($1) }  // a sorted array is a heap
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    siftDown()
  }

  private mutating func siftUp(_ start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].isBefore(heap[parent]) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func siftDown() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].isBefore(heap[least]) { least = child }
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
