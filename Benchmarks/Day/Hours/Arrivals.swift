internal import Foundation
internal import Support

/// When the jobs of a day are submitted, minute by minute.
///
/// It is a picture, not a measurement: doctors' hours with a peak before noon and a lower one in the evening, a
/// quiet night, and one batch customer who sends a tenth of the day in an hour that the seed chooses.
public struct Arrivals: Sendable, Equatable {
  /// Minutes of a day.
  public static let minutesOfDay = 1440
  /// The batch customer's share of the day's jobs.
  public static let burstShare = 0.1
  /// How long the batch customer takes, in minutes.
  public static let burstMinutes = 60
  /// By which part a minute may be above or below its curve.
  private static let roughness = 0.1

  /// The jobs of each minute.
  public let jobs: [Int]
  /// The minute at which the batch customer begins.
  public let burst: Int

  /// Spreads jobs over a day; the same seed spreads them alike.
  public init(jobs count: Int, seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let burst = Int.random(in: 0...(Self.minutesOfDay - Self.burstMinutes), using: &random)
    let curve = (0..<Self.minutesOfDay).map { minute in
      Self.height(minute) * Double.random(in: (1 - Self.roughness)...(1 + Self.roughness), using: &random)
    }
    let area = curve.reduce(0, +)
    var shares = curve.map { $0 / area * (1 - Self.burstShare) }
    for minute in burst..<(burst + Self.burstMinutes) {
      shares[minute] += Self.burstShare / Double(Self.burstMinutes)
    }
    // Rounding the sum so far, not each minute, loses no job.
    var share = 0.0
    var given = 0
    jobs = shares.enumerated().map { minute, part in
      share += part
      let due = minute == Self.minutesOfDay - 1 ? count : Int((share * Double(count)).rounded())
      defer { given = due }
      return due - given
    }
    self.burst = burst
  }

  /// The day's curve at a minute, 1 being the night: ten times that at half past ten, seven times at seven in the
  /// evening.
  private static func height(_ minute: Int) -> Double {
    let hour = Double(minute) / 60
    func hill(at peak: Double, width: Double) -> Double {
      let distance = (hour - peak) / width
      return exp(-distance * distance / 2)
    }
    return 1 + 9 * hill(at: 10.5, width: 2) + 6 * hill(at: 19, width: 1.5)
  }
}
