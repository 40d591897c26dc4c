import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import HTTPServing

@Suite("The turns of pages that stay open")
struct LiveBudgetTests {
  private let clock = MovedClock()

  /// Connections on which the clock moves while the server has a statement, by what it says of it.
  private func withDatabase(_ body: (ConnectionPool) async throws -> Void) async throws {
    try await withQueue { (queue) async throws in
      let clock = clock
      try await withLogin(
        of: [], in: queue, onNotice: { clock.pass(.milliseconds(Int($0) ?? 0)) }, body)
    }
  }

  /// Asks for a reading of so many statements, each of which takes so long.
  private func read(
    _ budget: LiveBudget, _ database: ConnectionPool, _ key: String, _ statements: Int,
    since: ContinuousClock.Instant?, milliseconds: Int = 0, as visit: Visit = Visit(isLive: true)
  ) async throws -> Bool {
    guard let turn = budget.turn(for: visit, key, atMost: statements, readAt: since) else { return false }
    try await budget.run(turn) {
      for _ in 0..<statements {
        try await database.execute(script: "DO $$ BEGIN RAISE NOTICE '\(milliseconds)'; END $$")
      }
    }
    return true
  }

  @Test(
    "Whatever pages are open, no five seconds have more statements than there may be, and none is left out")
  func turns() async throws {
    try await withDatabase { (database) async throws in
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
          guard try await read(budget, database, key, costs[key] ?? 0, since: readAt[key]) else { continue }
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
  }

  @Test("What a person asks for is read at once, and open pages wait for it")
  func person() async throws {
    try await withDatabase { (database) async throws in
      let budget = LiveBudget(now: clock.now)
      for _ in 0..<3 {
        #expect(try await read(budget, database, "jobs", 2, since: clock.now(), as: .person))
      }
      #expect(!(try await read(budget, database, "status", 1, since: clock.now())))
      clock.pass(LiveBudget.span)
      #expect(try await read(budget, database, "status", 1, since: clock.now()))
    }
  }

  @Test("Somebody who goes from page to page keeps open pages waiting for half a minute at most")
  func busyPerson() async throws {
    try await withDatabase { (database) async throws in
      let budget = LiveBudget(now: clock.now)
      let readAt = clock.now()
      for second in 0..<30 {
        _ = try await read(budget, database, "audit", 5, since: nil, as: .person)
        #expect(!(try await read(budget, database, "status", 1, since: readAt)), "\(second)")
        clock.pass(.seconds(1))
      }
      #expect(try await read(budget, database, "status", 5, since: readAt))
      #expect(!(try await read(budget, database, "jobs", 1, since: readAt)), "open pages share what there is")
    }
  }

  @Test("What takes the server long is read less often, and twice a minute all the same")
  func slow() async throws {
    try await withDatabase { (database) async throws in
      let budget = LiveBudget(now: clock.now)
      func isRead(
        _ key: String, _ milliseconds: Int = 0, as visit: Visit = Visit(isLive: true)
      ) async throws -> Bool {
        try await read(budget, database, key, 1, since: clock.now(), milliseconds: milliseconds, as: visit)
      }
      // So long takes the way alone.
      #expect(try await isRead("way"))
      for (key, milliseconds, pause) in [("jobs", 40, 10), ("sums", 60_000, 30)] {
        // That it takes long is known when it has been read some times.
        for _ in 0..<4 { _ = try await isRead(key, milliseconds, as: .person) }
        clock.pass(.seconds(30))
        #expect(try await isRead(key, milliseconds))
        clock.pass(.seconds(pause - 1))
        #expect(!(try await isRead("way")), "\(key)")
        clock.pass(.seconds(1))
        #expect(try await isRead("way"), "\(key)")
      }
      // What was once held up on the way is not taken for slow.
      clock.pass(.seconds(30))
      #expect(try await isRead("way", 60_000))
      #expect(!(try await isRead("way")))
      clock.pass(LiveBudget.span)
      #expect(try await isRead("way"))
    }
  }

  @Test("A page that was closed keeps its place for some seconds and no longer")
  func closed() async throws {
    try await withDatabase { (database) async throws in
      let budget = LiveBudget(now: clock.now)
      let old = clock.now()
      clock.pass(.seconds(1))
      #expect(try await read(budget, database, "a", 5, since: old))
      #expect(!(try await read(budget, database, "closed", 5, since: old)))
      clock.pass(.seconds(14))
      #expect(!(try await read(budget, database, "a", 5, since: clock.now())))
      clock.pass(.seconds(1))
      #expect(try await read(budget, database, "a", 5, since: clock.now()))
    }
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
