import Testing

@testable import StandIn

@Suite("Which failure strikes")
struct FaultPlanTests {
  private let rules = [
    FaultRule(.unavailable, share: 0.2), FaultRule(.reset, share: 0.1), FaultRule(.html, share: 0.05),
  ]

  @Test("The same seed, key and try give the same failure, in whatever order the failures were given")
  func pure() throws {
    let plan = try FaultPlan(seed: 7, rules: rules)
    let reordered = try FaultPlan(seed: 7, rules: rules.reversed())
    for key in UInt64(0)..<500 {
      for attempt in 1...3 {
        #expect(plan.strike(key: key, attempt: attempt) == reordered.strike(key: key, attempt: attempt))
      }
    }
  }

  @Test("Another seed strikes others")
  func seedMatters() throws {
    let strikes = try [UInt64(7), 8].map { seed in
      let plan = try FaultPlan(seed: seed, rules: rules)
      return (UInt64(0)..<200).map { plan.strike(key: $0, attempt: 1)?.fault }
    }
    #expect(strikes[0] != strikes[1])
  }

  @Test("Each failure strikes its share")
  func shares() throws {
    let plan = try FaultPlan(seed: 7, rules: rules)
    var counts: [FaultClass: Int] = [:]
    for key in UInt64(0)..<10_000 {
      if let strike = plan.strike(key: key, attempt: 1) { counts[strike.fault, default: 0] += 1 }
    }
    // Five standard deviations of the binomial distribution, and the seed is fixed.
    for rule in rules {
      let expected = rule.share * 10_000
      let tolerance = 5 * (expected * (1 - rule.share)).squareRoot()
      #expect(abs(Double(counts[rule.fault, default: 0]) - expected) < tolerance)
    }
    #expect(counts.count == rules.count)
  }

  @Test("A failure with a last try spares the tries after it")
  func lastTry() throws {
    let plan = try FaultPlan(seed: 1, rules: [FaultRule(.reset, share: 1, lastTry: 2)])
    #expect((1...4).map { plan.strike(key: 9, attempt: $0)?.fault } == [.reset, .reset, nil, nil])
  }

  @Test(
    "Shares that make no sense are refused",
    arguments: [
      [FaultRule(.reset, share: 0.7), FaultRule(.html, share: 0.4)],
      [FaultRule(.reset, share: 0.1), FaultRule(.reset, share: 0.1)],
      [FaultRule(.reset, share: -0.1)],
      [FaultRule(.reset, share: .nan)],
    ])
  func refused(_ rules: [FaultRule]) {
    #expect(throws: EndpointError.self) { try FaultPlan(seed: 1, rules: rules) }
  }

  @Test(
    "A failure is read from text",
    arguments: [
      ("503=0.05", FaultRule(.unavailable, share: 0.05)),
      ("503-retry-after=1", FaultRule(.unavailableRetryAfter, share: 1)),
      ("reset=1@2", FaultRule(.reset, share: 1, lastTry: 2)),
    ])
  func reads(_ text: String, _ rule: FaultRule) throws {
    #expect(try FaultRule(parsing: text) == rule)
  }

  @Test(
    "A text that is no failure is refused",
    arguments: [
      "503", "503=", "=0.5", "503=1.1", "503=-1", "503=nan", "503=0.5@0", "503=0.5@x", "teapot=0.5",
    ])
  func refusesText(_ text: String) {
    #expect(throws: EndpointError.self) { try FaultRule(parsing: text) }
  }

  @Test("A file has a seed and failures, as numbers or as text")
  func file() throws {
    let file = try FaultFile(parsing: #"{"seed": 7, "faults": {"503": 0.05, "reset": "1@2"}}"#)
    #expect(file.seed == 7)
    #expect(file.rules == [FaultRule(.unavailable, share: 0.05), FaultRule(.reset, share: 1, lastTry: 2)])
    #expect(throws: EndpointError.self) { try FaultFile(parsing: #"{"faults": ["503"]}"#) }
    #expect(throws: EndpointError.self) { try FaultFile(parsing: #"{"faults": {"teapot": 1}}"#) }
  }

  @Test("Each key's tries are counted apart")
  func tries() {
    let counter = TryCounter()
    #expect([1, 1, 2, 1].map { counter.next($0) } == [1, 2, 1, 3])
    #expect(counter.summary == (keys: 2, repeats: 2))
  }
}
