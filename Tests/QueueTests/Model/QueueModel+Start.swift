@testable import Support

extension QueueModel {
  /// December 2020 to June 2021: what a history has partitions for. It begins at the earliest late in December, in which
  /// one user's February may be near.
  static let months: ClosedRange<Int16> = 24_251...24_257

  /// The queue of a history: it begins near a month's end, in which user's zone ever, or at any other time.
  static func start(_ fleet: Fleet, using random: inout SeededGenerator) -> QueueModel {
    let borders = fleet.members.map { $0.months.start(of: .random(in: 24_253...24_255, using: &random)) }
    let before = Time.random(in: 0...(Bool.random(using: &random) ? 600_000 : 1_000_000_000), using: &random)
    let waiting: Int64? =
      Int.random(in: 0..<3, using: &random) == 0 ? .random(in: 2...12, using: &random) : nil
    return QueueModel(
      now: (borders.first ?? 0) - before, partitions: months, maxWaitingPerUser: waiting,
      plans: [
        "free": Plan(cost: 3000, limits: [Dated(from: .min, value: 5)]),
        "premium": Plan(cost: 1000, limits: [Dated(from: .min, value: nil)]),
        "clinic": Plan(cost: 500, limits: [Dated(from: .min, value: 20)]),
      ])
  }
}
