import TestSupport
import Testing

@testable import Support

@Suite("Seeded histories")
struct SeedTests {
  @Test("are those of one seed or of a range", arguments: [("17", 17, 17), ("5-900", 5, 900), ("0", 0, 0)])
  func ranges(text: String, first: UInt64, last: UInt64) throws {
    #expect(try SimulationSeeds.read(text) == first...last)
  }

  @Test("refuse what is no seed", arguments: ["", "-", "x", "5-", "-5", "9-5", "1-2-3", "1.5"])
  func unreadable(text: String) {
    #expect(throws: TestSupportError.self) { try SimulationSeeds.read(text) }
  }

  @Test(
    "name the seed of the first that breaks a rule, which breaks it again alone",
    .enabled(if: (try? SimulationSeeds.chosen()) == .some(nil), "the environment names the seeds"))
  func brokenRule() throws {
    var seen: [UInt64] = []
    let broken = #expect(throws: BrokenHistory.self) {
      try simulate(1000) { random in
        let number = UInt64.random(in: 0..<100, using: &random)
        seen.append(number)
        try hold(number != 7, "the number is never 7")
      }
    }
    let seed = try #require(broken?.seed)
    #expect(seen.count == Int(seed))
    #expect(broken?.description.contains("ANALYSIS_SIMULATION_SEED=\(seed)") == true)
    var again = SeededGenerator(seed: seed)
    #expect(UInt64.random(in: 0..<100, using: &again) == 7)
  }
}
