import PostgreSQL
import QueueTestSupport
import Testing

/// What an erased person must not have is among the invariants (I11), which `withCheckedQueue` checks at its end.
@Suite("An erasure against whatever else is done for the person at that moment")
struct ErasureRaceTests {
  /// An answer without its numbers.
  private static func words(_ answers: [Answer]) -> [String] {
    answers.map { [$0.outcome, $0.reason].compactMap(\.self).joined(separator: " ") }
  }

  @Test(
    "A bulk submit that waits for another user's counter stores nothing of one who is erased meanwhile, and all of the others",
    arguments: [nil, 3600, 40 * 86_400] as [Double?])
  func bulkSubmit(in seconds: Double?) async throws {
    try await withCheckedQueue { queue in
      for user in ["busy", "erased", "third"] { try await queue.addUser(user) }
      let at = if let seconds { try await queue.now(plus: seconds) } else { Double?.none }
      let asks = ["busy", "erased", "third", "erased"].enumerated().map { place, user in
        Ask(user, image: "photo \(place)", key: "key \(place)", at: at)
      }
      _ = try await queue.submit([Ask("busy", image: "earlier", at: at)])
      let answers = try await withThrowingTaskGroup(of: [Answer].self) { group in
        try await queue.pool.transaction { open in
          _ = try await queue.submit([Ask("busy", image: "open", at: at)], on: open)
          group.addTask { try await queue.submit(asks) }
          try await queue.untilSomebodyWaits()
          try await queue.erase("erased")
        }
        return try await group.next() ?? []
      }
      #expect(
        Self.words(answers) == ["created", "refused unknown_user", "created", "refused unknown_user"])
      #expect(answers[1].limit == nil && answers[1].used == nil && answers[1].job == nil)
      #expect(try await queue.number("SELECT count(*) FROM analysis.idem") == 2)
      #expect(
        try await queue.number("SELECT coalesce(sum(used), 0) FROM analysis.usage") == 4,
        "units of the erased user")
    }
  }

  @Test(
    "A submit of one job, with a key or without, that waits for the erasure of its own user stores nothing",
    arguments: [true, false], ["key", nil])
  func singleSubmit(hasCounter: Bool, key: String?) async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("erased")
      if hasCounter { _ = try await queue.submit([Ask("erased", image: "earlier")]) }
      let answers = try await withThrowingTaskGroup(of: [Answer].self) { group in
        try await queue.pool.transaction { open in
          try await queue.erase("erased", on: open)
          group.addTask { try await queue.submit([Ask("erased", key: key)]) }
          try await queue.untilSomebodyWaits()
        }
        return try await group.next() ?? []
      }
      #expect(Self.words(answers) == ["refused unknown_user"])
    }
  }

  @Test("While somebody else holds one of the person's jobs nothing is erased, and the error says so")
  func heldJob() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("erased")
      let jobs = try await queue.submit([Ask("erased", image: "held"), Ask("erased", image: "other")])
      try await queue.pool.transaction { open in
        _ = try await open.query(
          "SELECT FROM analysis.job WHERE id = $1 FOR UPDATE", [.int64(jobs[0].job)])
        let error = await #expect(throws: PostgreSQLError.self) { try await queue.erase("erased") }
        #expect(error?.sqlState == "55P03")
        #expect(error?.message.contains("somebody else is changing 1 of the user") == true)
      }
      #expect(try await queue.number("SELECT count(*) FROM analysis.account WHERE erased_at IS NULL") == 1)
      #expect(try await queue.number("SELECT count(*) FROM analysis.result") == 0)
      try await queue.erase("erased")
      #expect(try await queue.number("SELECT count(*) FROM analysis.result WHERE outcome = 2") == 2)
    }
  }

  @Test("A month that is made while somebody is erased takes no job of theirs")
  func newMonth() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("erased")
      let at = try await queue.now(plus: 200 * 86_400)
      let answers = try await withThrowingTaskGroup(of: [Answer].self) { group in
        try await queue.pool.transaction { open in
          try await queue.erase("erased", on: open)
          try await queue.execute(
            "SELECT analysis.ensure_partitions(p, (p + 12)::smallint) FROM analysis.period_of(now(), 'UTC') p"
          )
          group.addTask { try await queue.submit([Ask("erased", key: "key", at: at)]) }
          try await queue.untilSomebodyWaits()
        }
        return try await group.next() ?? []
      }
      #expect(Self.words(answers) == ["refused unknown_user"])
    }
  }

  @Test("A retry of dead jobs that waits for the erasure of their user brings none back")
  func retry() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("erased")
      let jobs = try await queue.create(Ask("erased") * 3)
      let claimed = try await queue.claim()
      _ = try await queue.fail(jobs, leases: [claimed[0].lease], delay: nil)
      let outcomes = try await withThrowingTaskGroup(of: [Int64: String].self) { group in
        try await queue.pool.transaction { open in
          try await queue.erase("erased", on: open)
          group.addTask { try await queue.retryDead(jobs) }
          try await queue.untilSomebodyWaits()
        }
        return try await group.next() ?? [:]
      }
      #expect(Set(outcomes.values) == ["image_gone"])
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 0)
    }
  }

  @Test("Of many who are erased while bulk submits, retries and promotions run, nothing comes back")
  func stress() async throws {
    try await withCheckedQueue(connections: 8) { queue in
      let users = (0..<60).map { "user-\($0)" }
      for user in users { try await queue.addUser(user) }
      let later = try await queue.now(plus: 35 * 86_400)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for place in 0..<4 {
          group.addTask {
            for round in 0..<60 {
              let key = "key \(place) \(round)"
              let asks = (0..<6).map { number in
                Ask(
                  users.randomElement() ?? "", image: "photo \(number)", key: Bool.random() ? key : nil,
                  at: number == 5 ? later : nil)
              }
              try await again { _ = try await queue.submit(round % 3 == 0 ? Array(asks.prefix(1)) : asks) }
            }
          }
        }
        group.addTask {
          for round in 0..<40 as Range<Int64> {
            let claimed = try await queue.claim(20, lease: 1000 + round * 10)
            guard !claimed.isEmpty else { continue }
            _ = try await queue.fail(claimed.map(\.job), leases: claimed.map(\.lease), delay: nil)
            try await again { _ = try await queue.retryDead(claimed.map(\.job)) }
            try await queue.execute("UPDATE analysis.scheduled SET run_at = now() WHERE job_id % 7 = 0")
            _ = try await queue.promote()
          }
        }
        for half in 0..<2 {
          group.addTask {
            for user in users where (users.firstIndex(of: user) ?? 0) % 3 == half {
              try await again { try await queue.erase(user) }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(
        try await queue.number("SELECT count(*) FROM analysis.account WHERE erased_at IS NOT NULL") == 40)
    }
  }

  /// Does something until the server does not end it in favour of another.
  private func again(_ body: () async throws -> Void) async throws {
    while true {
      do { return try await body() } catch let error as PostgreSQLError where error.sqlState == "40P01" {}
    }
  }
}
