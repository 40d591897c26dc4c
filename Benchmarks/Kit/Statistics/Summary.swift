/// What the runs of one contender came to in one figure.
public struct Summary: Sendable, Equatable, Codable {
  /// The middle value; of an even number the mean of the two in the middle.
  public let median: Double
  /// The least value.
  public let minimum: Double
  /// The greatest value.
  public let maximum: Double

  /// Of some values; nil when there are none.
  public init?(_ values: [Double]) {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    let half = sorted.count / 2
    median = sorted.count.isMultiple(of: 2) ? (sorted[half - 1] + sorted[half]) / 2 : sorted[half]
    minimum = sorted[0]
    maximum = sorted[sorted.count - 1]
  }
}
