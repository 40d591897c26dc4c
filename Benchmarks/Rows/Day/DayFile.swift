import BenchmarkDay
import Foundation

/// A forecast as JSON.
struct DayFile: Encodable {
  struct Day: Encodable {
    let jobs: Int
    let burstHour: Double
    let hours: [DayHour]
    /// Minutes from the day's beginning; nil when a week does not clear it.
    let clearedAfterMinutes: Int?
    let worstBacklog: Int
    let longestWaitMinutes: Int
    let workers: Int
    let imageBytesStored: Double
  }

  let costs: JobCosts
  let machine: Machine
  let fleet: WorkerFleet
  let scale: [ScaleTable.Line]
  let day: Day

  init(_ forecast: DayForecast) {
    costs = forecast.costs
    machine = forecast.machine
    fleet = forecast.fleet
    scale = forecast.table.lines
    let simulated = forecast.day
    day = Day(
      jobs: forecast.arrivals.jobs.reduce(0, +), burstHour: Double(forecast.arrivals.burst) / 60,
      hours: simulated.hours, clearedAfterMinutes: simulated.cleared, worstBacklog: simulated.worstBacklog,
      longestWaitMinutes: simulated.longestWaitMinutes, workers: simulated.workers,
      imageBytesStored: simulated.imageBytes)
  }

  /// The bytes of the file: sorted keys, indented, a newline at the end.
  func data() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    encoder.keyEncodingStrategy = .convertToSnakeCase
    return try encoder.encode(self) + Data("\n".utf8)
  }
}
