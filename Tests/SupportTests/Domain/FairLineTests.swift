import TestSupport
import Testing

@testable import Support

@Suite("What waits inside a program is served by lane and by user in turn")
struct FairLineTests {
  private static func requester(_ user: Int64, _ priority: Priority = .normal) -> Requester {
    Requester(Lane(.throat, priority), UserKey(shard: 0, id: user))
  }

  private func served<Element: Sendable>(_ line: inout FairLine<Element>) -> [Element] {
    var served: [Element] = []
    while let next = line.popFirst() { served.append(next) }
    return served
  }

  @Test("One who comes later with little is next, however much another has")
  func newcomer() {
    var line = FairLine<String>()
    for number in 1...8 { line.append("a\(number)", for: Self.requester(1), cost: 1_000_000) }
    #expect(line.popFirst() == "a1")
    line.append("b1", for: Self.requester(2), cost: 1000)
    #expect(served(&line) == ["b1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"])
  }

  @Test("Cost counts, not pieces: ten small ones go beside one that costs as much")
  func cost() {
    var line = FairLine<String>()
    for number in 1...3 { line.append("large\(number)", for: Self.requester(1), cost: 10) }
    for _ in 0..<30 { line.append("small", for: Self.requester(2), cost: 1) }
    let order = served(&line)
    let larges = order.indices.filter { order[$0] != "small" }
    #expect(larges == [0, 11, 22])
  }

  @Test("A user who had nothing waiting has saved nothing up")
  func noSaving() {
    var line = FairLine<Int>()
    for _ in 0..<100 { line.append(1, for: Self.requester(1), cost: 1) }
    for _ in 0..<90 { _ = line.popFirst() }
    for _ in 0..<10 { line.append(2, for: Self.requester(2), cost: 1) }
    #expect(served(&line).prefix(8).count { $0 == 1 } == 4)
  }

  @Test("While all priorities wait each gets of the cost by its share; an urgent one that comes is next")
  func lanes() throws {
    let shares = try #require(LaneShares("5,2,1"))
    var line = FairLine<Priority>(shares: shares)
    for priority in Priority.allCases.reversed() {
      for user in 0..<200 {
        line.append(priority, for: Self.requester(Int64(user), priority), cost: priority == .bulk ? 4 : 1)
      }
    }
    var cost: [Priority: Int] = [:]
    for _ in 0..<145 {
      guard let next = line.popFirst() else { break }
      cost[next, default: 0] += next == .bulk ? 4 : 1
    }
    #expect(cost == [.urgent: 100, .normal: 40, .bulk: 20])

    var busy = FairLine<String>()
    for user in 0..<100 { busy.append("normal", for: Self.requester(Int64(user)), cost: 5) }
    for _ in 0..<50 { #expect(busy.popFirst() == "normal") }
    busy.append("urgent", for: Self.requester(1000, .urgent), cost: 5)
    #expect(busy.popFirst() == "urgent")
  }

  @Test("What cannot be served now is passed over, also within a user's own, and loses nothing by it")
  func passedOver() {
    var line = FairLine<String>()
    line.append("costly a", for: Self.requester(1), cost: 50)
    line.append("cheap a", for: Self.requester(1), cost: 1)
    line.append("cheap b", for: Self.requester(2), cost: 1)
    #expect(line.next { $0.hasPrefix("cheap") }?.element == "cheap a")
    #expect(line.popFirst { $0.hasPrefix("cheap") } == "cheap a")
    #expect(line.popFirst { $0.hasPrefix("cheap") } == "cheap b")
    #expect(line.popFirst { $0.hasPrefix("cheap") } == nil)
    #expect(line.next()?.element == "costly a")
    #expect(line.count == 1)
  }

  @Test("What is taken out of the line has cost its user nothing")
  func removal() {
    var line = FairLine<String>()
    for number in 1...3 { line.append("a\(number)", for: Self.requester(1), cost: 1000) }
    line.append("b", for: Self.requester(2), cost: 1)
    #expect(line.remove { $0 == "a1" || $0 == "a2" }.sorted() == ["a1", "a2"])
    #expect(line.elements.sorted() == ["a3", "b"])
    #expect(served(&line) == ["a3", "b"])
    #expect(line.isEmpty)
  }

  @Test("Users who came once are forgotten, however many there were and whoever waits meanwhile")
  func forgetting() {
    var line = FairLine<Int64>()
    for _ in 0..<50 { line.append(0, for: Self.requester(0), cost: 1_000_000) }
    var kept = 0
    for user in 1...5000 as ClosedRange<Int64> {
      line.append(user, for: Self.requester(user), cost: 1000)
      #expect(line.popFirst { $0 > 0 } == user)
      kept = max(kept, line.lanes.values.map(\.users.count).max() ?? 0)
    }
    #expect(kept < 400)
    #expect(line.count == 50)
  }

  @Test("Of any history nobody who waits gets less than an equal part, but for the cost of one")
  func histories() throws {
    try simulate(20) { random in
      var line = FairLine<(user: Int64, cost: Int)>()
      var had: [Int64: Int] = [:]
      // All have enough to wait to the end.
      for user in 1...5 as ClosedRange<Int64> {
        for _ in 0..<50 {
          let cost = Int.random(in: 1...1000, using: &random)
          line.append((user, cost), for: Self.requester(user), cost: cost)
        }
      }
      for _ in 0..<50 {
        let next = line.popFirst()
        had[next?.user ?? 0, default: 0] += next?.cost ?? 0
        // What goes of somebody changes nothing for the others.
        let cost = Int.random(in: 1...1000, using: &random)
        line.remove { $0.user == 1 && $0.cost == cost }
      }
      let parts = (1...5).map { had[$0] ?? 0 }
      try hold((parts.max() ?? 0) - (parts.min() ?? 0) <= 1000, "equal parts: \(parts)")
      try hold(line.count == line.elements.count, "\(line.count) wait")
    }
  }
}
