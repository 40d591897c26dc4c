import Synchronization

/// Counts how often each key has come.
final class TryCounter: Sendable {
  private let counts = Mutex<[UInt64: Int]>([:])

  /// The number of this try, counted from 1.
  func next(_ key: UInt64) -> Int {
    counts.withLock { counts in
      counts[key, default: 0] += 1
      return counts[key, default: 1]
    }
  }

  /// Keys seen, and tries beyond the first of each.
  var summary: (keys: Int, repeats: Int) {
    counts.withLock { ($0.count, $0.values.reduce(0) { $0 + $1 - 1 }) }
  }
}
