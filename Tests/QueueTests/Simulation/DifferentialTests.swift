import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("The database and the model of the queue, side by side")
struct DifferentialTests {
  /// How many seeds, and how many operations each has before its drain.
  private static let histories = UInt64(24)
  private static let length = 150

  static var seeds: [UInt64] {
    get throws { Array(try SimulationSeeds.chosen() ?? 1...histories) }
  }

  @Test("answer every call alike and come to the same state", arguments: try Self.seeds)
  func histories(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let fleet = Fleet(try await Fleet.months(), using: &random)
    let start = QueueModel.start(fleet, using: &random)
    try await withCheckedQueue(from: SimulatedClock.template, connections: 1) { queue in
      var pair = Pair(queue: queue, model: start, fleet: fleet)
      do {
        try await pair.prepare()
        for _ in 0..<Self.length {
          try await pair.apply(pair.fleet.next(at: pair.model.now, using: &random))
        }
        try await pair.compare()
        try await pair.drain()
        try await pair.compare()
      } catch {
        throw BrokenHistory(seed: seed, cause: error)
      }
    }
  }

  @Test("The functions of the queue read the time by the server's clock alone, which a test can replace")
  func oneClock() {
    let others = [
      "now()", "current_timestamp", "current_date", "current_time", "localtime", "statement_timestamp",
      "transaction_timestamp", "timeofday",
    ]
    var simulated = 0
    for group in SQLFiles.files(in: "functions") where !group.name.hasPrefix("70_reports/") {
      let text = group.text.lowercased().split(separator: "\n").map {
        $0.prefix(upTo: $0.firstRange(of: "--")?.lowerBound ?? $0.endIndex)
      }
      .joined(separator: "\n")
      for other in others { #expect(!text.contains(other), "\(group.name) reads \(other)") }
      if text.contains("clock_timestamp()") { simulated += 1 }
    }
    #expect(simulated > 5)
  }
}
