import TestSupport
import Testing

@testable import Control
@testable import HTTPServing

@Suite("The turns of pages that stay open")
struct LiveBudgetTests {
  private let clock = MovedClock()
  private let live = Visit(isLive: true)

  @Test(
    "Whatever pages are open, no five seconds have more statements than there may be, and none is left out")
  func turns() {
    let budget = LiveBudget(now: clock.now)
    // What each reading takes; together three times what there may be, and one that takes all of it.
    let costs = ["a": 1, "b": 1, "c": 2, "d": 2, "e": 4, "f": 5]
    var readAt: [String: ContinuousClock.Instant] = [:]
    var log: [(at: ContinuousClock.Instant, statements: Int)] = []
    var most = Duration.zero
    for key in costs.keys { readAt[key] = clock.now() }
    for round in 0..<60 {
      // Browsers come in any order, and never just when five seconds are over.
      for key in costs.keys.sorted(by: { ($0 < $1) == (round % 2 == 0) }) {
        clock.pass(.milliseconds(7))
        let began = clock.now()
        guard budget.allows(costs[key] ?? 0, for: key, readAt: readAt[key], to: live) else { continue }
        most = max(most, began - (readAt[key] ?? began))
        readAt[key] = began
        log.append((began, costs[key] ?? 0))
      }
      clock.pass(.milliseconds(5250))
    }
    for entry in log {
      let window = log.filter { $0.at >= entry.at && $0.at - entry.at < LiveBudget.span }
      #expect(window.reduce(0) { $0 + $1.statements } <= LiveBudget.statements)
    }
    #expect(Set(readAt.values.map { clock.now() - $0 < .seconds(40) }) == [true])
    #expect(most < .seconds(40), "\(most)")
  }

  @Test("What a person asks for is read at once, and open pages wait for it")
  func person() {
    let budget = LiveBudget(now: clock.now)
    for _ in 0..<3 { #expect(budget.allows(2, for: "jobs", readAt: clock.now(), to: .person)) }
    #expect(!budget.allows(1, for: "status", readAt: clock.now(), to: live))
    clock.pass(LiveBudget.span)
    #expect(budget.allows(1, for: "status", readAt: clock.now(), to: live))
  }

  @Test("Somebody who goes from page to page keeps open pages waiting for half a minute at most")
  func busyPerson() {
    let budget = LiveBudget(now: clock.now)
    let readAt = clock.now()
    for second in 0..<30 {
      _ = budget.allows(5, for: "audit", readAt: nil, to: .person)
      #expect(!budget.allows(1, for: "status", readAt: readAt, to: live), "\(second)")
      clock.pass(.seconds(1))
    }
    #expect(budget.allows(5, for: "status", readAt: readAt, to: live))
    #expect(!budget.allows(1, for: "jobs", readAt: readAt, to: live), "open pages share what there is")
  }

  @Test("What takes more statements than there may be is read when nothing else is, and others wait longer")
  func costly() {
    let budget = LiveBudget(now: clock.now)
    #expect(budget.allows(10, for: "sums", readAt: clock.now(), to: live))
    clock.pass(LiveBudget.span)
    #expect(!budget.allows(1, for: "jobs", readAt: clock.now(), to: live))
    clock.pass(LiveBudget.span)
    #expect(budget.allows(1, for: "jobs", readAt: clock.now(), to: live))
    #expect(!budget.allows(10, for: "sums", readAt: clock.now(), to: live))
  }

  @Test("A page that was closed keeps its place for some seconds and no longer")
  func closed() {
    let budget = LiveBudget(now: clock.now)
    let old = clock.now()
    clock.pass(.seconds(1))
    #expect(budget.allows(5, for: "a", readAt: old, to: live))
    #expect(!budget.allows(5, for: "closed", readAt: old, to: live))
    clock.pass(.seconds(14))
    #expect(!budget.allows(5, for: "a", readAt: clock.now(), to: live))
    clock.pass(.seconds(1))
    #expect(budget.allows(5, for: "a", readAt: clock.now(), to: live))
  }

  @Test(
    "A page asks by itself where its script says so, or its address, unless the browser says that a person does"
  )
  func visits() {
    func isLive(_ query: [(String, String)] = [], _ headers: [(String, String)] = []) -> Bool {
      Visit(HTTPRequest(.get, "/jobs", query: FormValues(query), headers: FormValues(headers))).isLive
    }
    #expect(!isLive() && isLive([], [("x-live", "1")]) && isLive([("live", "1")]))
    #expect(!isLive([("live", "1")], [("sec-fetch-user", "?1")]))
  }
}
