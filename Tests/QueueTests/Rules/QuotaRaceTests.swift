import PostgreSQL
import QueueTestSupport
import Testing

@Suite("The monthly quota")
struct QuotaRaceTests {
  @Test("16 clients submit 50 jobs each for 4 users of 5 a month: exactly 5 of each are accepted")
  func race() async throws {
    try await withCheckedQueue(connections: 16) { queue in
      let users = (0..<4).map { "free-\($0)" }
      for user in users { try await queue.addUser(user, plan: "free") }

      let answers = try await withThrowingTaskGroup(of: [Answer].self) { group in
        for client in 0..<16 {
          group.addTask {
            var answers: [Answer] = []
            for number in 0..<50 {
              answers += try await queue.submit([
                Ask(users[(client + number) % 4], image: "\(client)-\(number)")
              ])
            }
            return answers
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }

      #expect(answers.count == 800)
      #expect(answers.count { $0.outcome == "created" } == 20)
      #expect(answers.count { $0.reason == "quota" } == 780)
      for user in users {
        #expect(try await queue.usage(user) == QueueFixture.Usage(used: 5, refunded: 0, refused: 195))
      }
    }
  }

  @Test("The order of a call decides who gets the last units, and a refusal says limit and use")
  func order() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("free", plan: "free")
      try await queue.addUser("other", plan: "free")
      let users = ["free", "free", "free", "other", "free", "free", "free", "free", "other"]
      let answers = try await queue.submit(users.map { Ask($0) })
      #expect(
        answers.map(\.outcome) == [
          "created", "created", "created", "created", "created", "created", "refused", "refused", "created",
        ])
      #expect(answers[6].limit == 5)
      #expect(answers[6].used == 5)
      #expect(answers[6].job == nil)
    }
  }

  @Test("What a dead or cancelled job held is given back once, and can be used at once")
  func refunds() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("free", plan: "free")
      let jobs = try await queue.create(Ask("free") * 5)
      let claimed = try await queue.claim(2)
      _ = try await queue.fail(claimed.map(\.job), leases: [claimed[0].lease], delay: nil)
      #expect(try await queue.cancel([jobs[4]]) == [jobs[4]: "cancelled"])
      #expect(try await queue.cancel([jobs[4]]) == [jobs[4]: "cancelled"])
      #expect(try await queue.number("SELECT count(*) FROM analysis.refund") == 3)

      // No refunds were applied: the submit that meets the limit ends first.
      let answers = try await queue.submit(Ask("free") * 4)
      #expect(answers.map(\.outcome) == ["created", "created", "created", "refused"])
      #expect(try await queue.usage("free") == QueueFixture.Usage(used: 5, refunded: 3, refused: 1))
      #expect(try await queue.applyRefunds() == 0)
    }
  }

  @Test("Two who apply refunds at the same time apply each once, and leave users with an open submit alone")
  func refundsApplied() async throws {
    try await withCheckedQueue(connections: 6) { queue in
      for number in 0..<5 { try await queue.addUser("user-\(number)") }
      let jobs = try await queue.create((0..<5).flatMap { Ask("user-\($0)") * 20 })
      _ = try await queue.cancel(jobs)

      try await queue.pool.transaction { open in
        _ = try await queue.submit([Ask("user-0")], on: open)
        let ended = try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<4 { group.addTask { try await queue.applyRefunds() } }
          return try await group.reduce(0, +)
        }
        // One of the four may meet another's lock and leave that user; none may take a refund twice.
        #expect(ended <= 80)
      }
      while try await queue.applyRefunds() > 0 {}
      #expect(try await queue.number("SELECT count(*) FROM analysis.refund") == 0)
      #expect(try await queue.usage("user-0") == QueueFixture.Usage(used: 1, refunded: 20))
      #expect(try await queue.usage("user-4") == QueueFixture.Usage(used: 0, refunded: 20))
    }
  }

  @Test("A limit holds from its date, by the time from which a job may run")
  func datedLimit() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("free", plan: "free")
      // Two hours from now the limit is 2; a job that runs later is counted by the limit of that time.
      let later = try await queue.now(plus: 7200)
      try await queue.execute("SELECT analysis.set_plan_limit('free', 2, to_timestamp(\(later)))")
      let answers = try await queue.submit(Ask("free") * 3 + [Ask("free", at: later + 60)])
      #expect(answers.map(\.limit) == [5, 5, 5, 2])
      #expect(answers[..<3].allSatisfy { $0.outcome == "created" })
      // In the same month the three count against the two; where the month ends within two hours, they do not.
      let sameMonth = answers[0].period == (answers[3].period ?? answers[0].period)
      #expect(answers[3].outcome == (sameMonth && answers[3].reason == "quota" ? "refused" : "created"))
    }
  }

  @Test("A change of plan counts from its date")
  func changeOfPlan() async throws {
    try await withCheckedQueue { queue in
      try await queue.addUser("user", plan: "free")
      #expect(try await queue.submit(Ask("user") * 6).last?.reason == "quota")
      _ = try await queue.texts("SELECT analysis.set_plan(0::smallint, 'user', 'premium', NULL)::text")
      #expect(
        try await queue.submit(Ask("user") * 6).allSatisfy { $0.outcome == "created" && $0.limit == nil })
      #expect(
        try await queue.texts("SELECT analysis.set_plan(0::smallint, 'nobody', 'premium', NULL)::text") == [
          "false"
        ])
    }
  }
}
