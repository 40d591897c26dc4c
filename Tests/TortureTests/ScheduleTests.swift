import Testing

@testable import StandIn
@testable import TortureKit

@Suite("The schedule of the torture run")
struct ScheduleTests {
  @Test("The same seed gives the same schedule, another seed another")
  func repeats() {
    let length = Duration.seconds(120)
    #expect(Schedule(seed: 7, length: length) == Schedule(seed: 7, length: length))
    #expect(Schedule(seed: 7, length: length) != Schedule(seed: 8, length: length))
  }

  @Test("A minute has every kind of fault", arguments: 1...20 as ClosedRange<UInt64>)
  func hasAllKinds(seed: UInt64) {
    let kinds = Set(Schedule(seed: seed, length: .seconds(60)).events.map(\.kind))
    #expect(kinds == Set(FaultKind.all))
  }

  @Test("Faults come in order, within the run, numbered from 1")
  func ordered() {
    let events = Schedule(seed: 3, length: .seconds(60)).events
    #expect(events.map(\.number) == Array(1...events.count))
    #expect(zip(events, events.dropFirst()).allSatisfy { $0.time < $1.time })
    #expect(events.allSatisfy { $0.time < .seconds(60) && (0..<1).contains($0.length) })
  }

  @Test("What halts everything does not come twice in a row")
  func spacesHeavyOnes() {
    for seed in 1...20 as ClosedRange<UInt64> {
      let heavy = Schedule(seed: seed, length: .seconds(300)).events.filter { $0.kind.isHeavy }.map(\.number)
      #expect(zip(heavy, heavy.dropFirst()).allSatisfy { $1 - $0 > 1 })
    }
  }

  @Test("Only the wanted kinds come, and none when there are none")
  func confined() {
    let kinds = FaultKind.named("worker-killed") + FaultKind.named("endpoint")
    let events = Schedule(seed: 1, length: .seconds(60), kinds: kinds).events
    #expect(Set(events.map(\.kind)) == Set(kinds))
    #expect(Schedule(seed: 1, length: .seconds(60), kinds: []).events.isEmpty)
  }

  @Test("No two kinds have the same name, and an unknown name means none")
  func names() {
    #expect(Set(FaultKind.all.map(\.name)).count == FaultKind.all.count)
    #expect(FaultKind.all.allSatisfy { FaultKind.named($0.name) == [$0] })
    #expect(FaultKind.named("worker-tickled").isEmpty)
    #expect(FaultKind.all.count >= 25)
  }

  @Test("The faults that the endpoint draws leave most calls alone")
  func answerFaults() {
    for rules in [
      AnswerFaults.always, AnswerFaults.failing, AnswerFaults.limitReached, AnswerFaults.allForbidden,
    ] {
      #expect(Set(rules.map(\.fault)).count == rules.count)
      #expect(rules.reduce(0) { $0 + $1.share } <= 1)
    }
    let valid = Set(AnswerFaults.valid)
    #expect(AnswerFaults.always.reduce(0) { $0 + (valid.contains($1.fault) ? 0 : $1.share) } < 0.1)
  }
}
