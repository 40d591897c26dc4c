import Synchronization

/// How long something took, each time, by bounds.
///
/// Cheap enough for every job: a short search and a lock that hardly anybody else wants.
public final class Histogram: Sendable {
  /// What was observed so far.
  public struct Reading: Sendable, Equatable {
    /// How many were at most as long as each bound, in the order of the bounds.
    var cumulative: [Int]
    /// How many there were.
    public var count: Int
    /// Seconds of all of them together.
    public var sum: Double

    /// Observations, by the bounds of `Histogram.bounds`.
    public init(cumulative: [Int], count: Int, sum: Double) {
      self.cumulative = cumulative
      self.count = count
      self.sum = sum
    }
  }

  private struct State {
    /// The last is for what is above all bounds.
    var counts = [Int](repeating: 0, count: Histogram.bounds.count + 1)
    var nanoseconds: Int64 = 0
  }

  /// The bounds, in seconds: from a statement on the same machine to a call that uses all of its time.
  public static let bounds: [Double] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
  ]
  private static let nanosecondBounds = bounds.map { Int64($0 * 1e9) }

  private let state = Mutex(State())

  /// Makes one that no set of counters names.
  public init() {}

  /// Takes note of one; a negative length is none.
  public func observe(_ duration: Duration) {
    let nanoseconds = max(0, duration.nanoseconds)
    let bounds = Self.nanosecondBounds
    var index = 0
    while index < bounds.count, nanoseconds > bounds[index] { index += 1 }
    state.withLock { state in
      state.counts[index] += 1
      state.nanoseconds &+= nanoseconds
    }
  }

  /// What was observed so far, all of one moment.
  public var reading: Reading {
    let (counts, nanoseconds) = state.withLock { ($0.counts, $0.nanoseconds) }
    var sum = 0
    let cumulative = counts.map { count in
      sum += count
      return sum
    }
    return Reading(cumulative: Array(cumulative.dropLast()), count: sum, sum: Double(nanoseconds) / 1e9)
  }
}

/// Counts by a label's value: answers by their status, refusals by their reason.
///
/// There are few values: one more than `most` is counted as `other`, so that nobody can fill the memory or a
/// monitoring's store by making up new ones.
public final class LabelledCounter: Sendable {
  /// How many values are counted apart.
  public static let most = 64

  private let counts = Mutex<[String: Int]>([:])

  /// Makes one that no set of counters names.
  public init() {}

  /// Counts one more of a value.
  public func add(_ value: String) {
    counts.withLock { counts in
      let isRoom = counts[value] != nil || counts.count < Self.most
      counts[isRoom ? value : "other", default: 0] += 1
    }
  }

  /// The counts so far, by value.
  public var values: [String: Int] { counts.withLock { $0 } }
}
