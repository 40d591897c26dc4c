import Testing

@testable import Support
@testable import TortureKit

@Suite("The stress of the torture run: what is drawn, and what is a fault")
struct StressTests {
  private static let raised =
    "PL/pgSQL function analysis.require_argument(boolean,text) line 4 at RAISE\nSQL function \"x\""

  private func fault(
    _ state: String?, _ context: String? = nil, detail: String? = nil, isOdd: Bool = false,
    alone: Set<Int32> = []
  ) -> String? {
    StressChecks.fault(
      of: .init(state: state, message: "said", context: context, detail: detail, isOdd: isOdd),
      isAlone: { alone.contains($0) })
  }

  @Test(
    "names what no caller may be told",
    arguments: ["XX000", "42703", "42501", "22P02", "23514", "54001", "0A000"])
  func faults(state: String) {
    #expect(fault(state) == "\(state) said")
    #expect(fault(state, "SQL function \"x\" statement 1") == "\(state) said")
  }

  @Test("names the server's own trouble also where a function says it")
  func trouble() {
    #expect(fault("XX001", Self.raised) == "XX001 said")
  }

  @Test("takes a function's own words, a lost connection and a lock that was not to be had for no fault")
  func refusals() {
    for state in ["22023", "42501", "P0002", "23505", "2D000"] { #expect(fault(state, Self.raised) == nil) }
    for state in ["57P01", "57014", "53300", "40001", "55P03", nil] { #expect(fault(state) == nil) }
  }

  @Test("lets the server refuse an argument that nobody means, and nothing else of such a call")
  func odd() {
    #expect(fault("22008", isOdd: true) == nil && fault("22008") != nil)
    #expect(fault("42703", isOdd: true) != nil)
  }

  @Test("names a deadlock of calls that were each alone in a transaction")
  func deadlock() {
    let detail =
      "Process 7 waits for ShareLock on transaction 1; blocked by process 8.\nProcess 8 waits for …; blocked by process 7."
    #expect(fault("40P01", detail: detail, alone: [7, 8]) == "40P01 said")
    #expect(fault("40P01", detail: detail, alone: [7]) == nil)
  }

  @Test("names a call that takes too long, a login that called nothing, and each fault with its call")
  func findings() {
    #expect(
      StressChecks.fault(of: .init(hasTimedOut: true), isAlone: { _ in true }) == "no answer within 60 s")
    var facts = StressChecks.Facts(calls: ["stress_worker": 3], answered: 2, functions: ["claim"])
    #expect(StressChecks(facts: facts, logins: ["stress_worker"]).findings().flatMap(\.broken) == [])
    facts.faults = ["claim: XX000 said": "stress_worker: SELECT 1"]
    let found = StressChecks(facts: facts, logins: ["stress_worker", "stress_owner"]).findings()
    #expect(
      found.flatMap(\.broken) == [
        "claim: XX000 said, by stress_worker: SELECT 1", "stress_owner has called nothing",
      ])
  }

  @Test("A number that its parameter's type cannot hold is never drawn")
  func range() {
    let claim = StressFunction(
      name: "claim", isProcedure: false, parameters: [.init(name: "p_lease", type: "integer")], defaults: 0)
    var draw = StressDraw(login: "stress_worker", functions: [claim], seed: 1)
    for _ in 0..<50 {
      guard let call = draw.call(), !call.isOdd else { continue }
      #expect(call.sql.contains("p_lease => (1)::integer"))
    }
  }

  @Test("The same seed draws the same calls, of every function and with every argument that has no default")
  func drawn() {
    let functions = [
      StressFunction(
        name: "cancel", isProcedure: false,
        parameters: [.init(name: "p_shard", type: "smallint"), .init(name: "p_jobs", type: "bigint[]")],
        defaults: 0),
      StressFunction(
        name: "wait_for", isProcedure: true, parameters: [.init(name: "p_timeout", type: "interval")],
        defaults: 1),
    ]
    func calls(_ seed: UInt64) -> [String] {
      var draw = StressDraw(login: "stress_worker", functions: functions, seed: seed)
      return (0..<200).compactMap { _ in draw.call()?.sql }
    }
    #expect(calls(7) == calls(7) && calls(7) != calls(8))
    #expect(
      calls(7).allSatisfy {
        $0.contains("p_shard => ") && $0.contains("p_jobs => ") || $0.contains("p_timeout => ")
      })
    #expect(calls(7).contains { $0.hasPrefix("CALL analysis.wait_for(") && !$0.contains("-1 s") })
  }

  @Test("What the stress submitted needs no record and no call, and has to end all the same")
  func accounted() {
    var planted = Planted()
    planted.facts.jobs.append(
      .init(id: .init(99), shard: 0, user: "stress-1", tag: nil, place: .analysed, isStress: true))
    planted.facts.attempts.append(.init(job: .init(99), failure: nil, calls: 1))
    #expect(planted.broken == [])
    planted.facts.jobs[10].isStress = false
    #expect(planted.broken == ["I2 unexpected", "I8 answered"])
    planted.facts.jobs[10] = .init(
      id: .init(99), shard: 0, user: "stress-1", tag: nil, place: .open, isStress: true)
    planted.facts.attempts.removeLast()
    #expect(planted.broken == ["I1 ended"])
  }

  @Test("Its sessions begin with the run, and none comes twice")
  func schedule() {
    let kinds = FaultKind.named("stress") + FaultKind.named("worker")
    let events = Schedule(seed: 1, length: .seconds(60), kinds: kinds).events
    let first = events.prefix(StressPart.all.count)
    #expect(
      first.map(\.kind.group).allSatisfy { $0 == "stress" } && first.allSatisfy { $0.time < .seconds(3) })
    #expect(events.dropFirst(StressPart.all.count).allSatisfy { !$0.kind.isThroughout })
    #expect(
      Schedule(seed: 1, length: .seconds(60), kinds: FaultKind.named("stress")).events.count
        == StressPart.all.count)
  }
}
