import Testing

@testable import Support
@testable import TortureKit

@Suite("The checker of the torture run: what erasing leaves, what claims cost, who is refused, who is served")
struct CalmCheckTests {
  /// Eight claims as they are to be, over and over.
  private static let fair = CalmChecks.Facts(
    cancelled: 1000, rowsRead: 900,
    order: (0..<8).flatMap { _ in
      [.urgent, .urgent, .normal, .urgent, .urgent, .bulk, .normal, .urgent] as [Priority]
    }, ofEach: 60)

  private func broken(_ change: (inout CalmChecks.Facts) -> Void, refused: Int = 0) -> [Finding] {
    var facts = Self.fair
    change(&facts)
    return CalmChecks(facts: facts, refusedWaiting: refused).findings().filter { !$0.holds }
  }

  @Test("finds nothing where all have their share")
  func fair() {
    #expect(broken { _ in } == [])
  }

  @Test("names claims that read what was cancelled again and again")
  func costlyClaims() {
    #expect(broken { $0.rowsRead = 1000 * 1000 / 64 }.map(\.rule) == ["I13 claims"])
    #expect(broken { $0.rowsRead = 5000 } == [])
  }

  @Test("names a user who was refused for waiting and had nothing open")
  func refused() {
    #expect(broken({ _ in }, refused: 3).map(\.rule) == ["I14 waiting"])
  }

  @Test(
    "names each priority that others starve", arguments: [(Priority.urgent, 1), (.normal, 1), (.bulk, 1)])
  func starved(priority: Priority, count: Int) {
    let other: Priority = priority == .urgent ? .normal : .urgent
    let found = broken { facts in facts.order = facts.order.map { $0 == priority ? other : $0 } }
    #expect(found.map(\.rule) == ["I15 shares"])
    #expect(found.first?.broken.contains { $0.hasPrefix("0 of the first 60 jobs were \(priority)") } == true)
  }

  @Test("takes nothing for well that was not measured")
  func nothing() {
    let rules = CalmChecks(facts: .init(), refusedWaiting: 0).findings().filter { !$0.holds }.map(\.rule)
    #expect(rules == ["I13 claims", "I15 shares"])
  }

  @Test("names what there is of an erased person")
  func traces() {
    #expect(ErasureChecks(traces: []).findings() == [Finding("I11 erased", "an erased user is nowhere")])
    let found = ErasureChecks(traces: ["user 7 has an image: 2"]).findings()
    #expect(found.map(\.rule) == ["I11 erased"] && !found[0].holds)
  }

  @Test("An erased user's job fits no submit any more, and is not taken for one that came from nowhere")
  func erasedJob() {
    var planted = Planted()
    planted.facts.jobs.append(
      DatabaseFacts.Job(
        id: JobID(99), shard: 0, user: "erased-7", tag: nil, place: .cancelled, isErased: true))
    #expect(planted.broken == [])
    planted.facts.jobs[10].isErased = false
    #expect(planted.broken == ["I2 unexpected"])
  }
}
