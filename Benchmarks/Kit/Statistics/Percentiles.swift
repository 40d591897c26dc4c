/// Percentiles by the nearest rank: each is a value that was really measured.
public struct Percentiles: Sendable, Equatable {
  private let sorted: [Double]

  /// Of some values, at least one.
  ///
  /// - Throws: ``BenchmarkError`` when there are none.
  public init(_ values: [Double]) throws {
    guard !values.isEmpty else { throw BenchmarkError("There is no percentile of no values.") }
    sorted = values.sorted()
  }

  /// The least value that so many percent of all do not pass.
  ///
  /// - Parameter percent: From 0 to 100.
  public func value(at percent: Double) -> Double {
    let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
    return sorted[min(max(rank, 1), sorted.count) - 1]
  }

  /// The 50th, 95th and 99th as a sample's further figures `p50_ms`, `p95_ms` and `p99_ms`, of values in
  /// milliseconds.
  public var figures: [String: Double] {
    ["p50_ms": value(at: 50), "p95_ms": value(at: 95), "p99_ms": value(at: 99)]
  }
}
