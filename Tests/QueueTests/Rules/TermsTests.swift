import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("The terms that are kept for a user's next submits")
struct TermsTests {
  /// A user whose terms are kept, in the middle of February 2021.
  private func withTerms(
    isChecked: Bool = true, _ body: (QueueFixture) async throws -> Void
  ) async throws {
    let prepared = { (queue: QueueFixture) async throws in
      try await moveClock(queue, "2021-02-10T12:00:00Z")
      try await queue.addUser("u", plan: "premium", zone: "UTC")
      for number in 1...3 {
        #expect(try await queue.number("SELECT count(*) FROM analysis.terms") == 0)
        _ = try await queue.create([Ask("u", key: "job \(number)")])
      }
      #expect(try await queue.texts("SELECT user_ref FROM analysis.terms") == ["u"])
      try await body(queue)
    }
    if isChecked {
      try await withCheckedQueue(from: SimulatedClock.template, connections: 4, prepared)
    } else {
      try await withQueue(from: SimulatedClock.template, connections: 4, prepared)
    }
  }

  private func moveClock(_ queue: QueueFixture, _ moment: String) async throws {
    try await queue.setClock(Int64(Date(moment, strategy: .iso8601).timeIntervalSince1970 * 1000))
  }

  /// Marks the terms that are kept, so that an answer shows whether a submit went by them.
  private func mark(_ queue: QueueFixture) async throws {
    try await queue.execute("UPDATE analysis.terms SET quota = 77777")
  }

  private func goesByKept(_ queue: QueueFixture, user: String = "u") async throws -> Bool {
    let answer = try await queue.submit([Ask(user, key: UUID().uuidString)])[0]
    #expect(answer.outcome == "created" || answer.reason == "quota")
    return answer.limit == 77777
  }

  @Test("are kept from the third job of a month on, and hold while nothing changes")
  func kept() async throws {
    try await withTerms(isChecked: false) { queue in
      try await mark(queue)
      #expect(try await goesByKept(queue))
      // What is none of the user's own, or says nothing of terms.
      try await queue.addUser("other", plan: "free")
      _ = try await queue.create([Ask("other"), Ask("u")])
      try await moveClock(queue, "2021-02-28T20:59:59Z")
      #expect(try await goesByKept(queue))
    }
  }

  @Test(
    "hold no more when anything changes that they follow from",
    arguments: [
      "SELECT analysis.set_plan(0::smallint, 'u', 'free', NULL)",
      "SELECT analysis.set_plan(0::smallint, 'u', 'free', analysis.simulated_now() + interval '1 day')",
      "SELECT analysis.set_plan_limit('premium', 900, NULL)",
      "SELECT analysis.set_plan_limit('premium', 900, analysis.simulated_now() + interval '1 day')",
      "UPDATE analysis.plan SET cost = cost + 1",
      "SELECT analysis.set_zone(0::smallint, 'u', 'Asia/Tokyo')",
      "SELECT analysis.set_period(0::smallint, 'u', 17::smallint, NULL)",
      "UPDATE analysis.setting SET value = '50' WHERE name = 'max_waiting_per_user'",
      "DELETE FROM analysis.account_plan WHERE valid_from > '2021-01-01'",
    ])
  func changed(change: String) async throws {
    try await withTerms { queue in
      try await queue.execute("SELECT analysis.set_plan(0::smallint, 'u', 'free', NULL)")
      try await queue.execute("SELECT analysis.set_plan(0::smallint, 'u', 'premium', NULL)")
      for key in ["third", "fourth"] { _ = try await queue.create([Ask("u", key: key)]) }
      try await mark(queue)
      #expect(try await goesByKept(queue))
      try await queue.execute(change)
      #expect(try await !goesByKept(queue))
    }
  }

  @Test(
    "hold for their time: not once a plan or a limit begins, nor near the month's ends, nor before they were made",
    arguments: [
      ("SELECT analysis.set_plan(0::smallint, 'u', 'free', '2021-02-12Z')", "2021-02-12T00:00:00Z"),
      ("SELECT analysis.set_plan_limit('premium', 900, '2021-02-12Z')", "2021-02-12T00:00:00Z"),
      ("", "2021-02-28T21:00:00Z"), ("", "2021-03-01T00:00:00Z"), ("", "2021-02-10T11:59:59Z"),
    ])
  func time(change: String, moment: String) async throws {
    try await withTerms { queue in
      try await queue.execute(change)
      _ = try await queue.create([Ask("u", key: "third")])
      try await mark(queue)
      try await moveClock(queue, moment)
      #expect(try await !goesByKept(queue))
    }
  }

  @Test(
    "are not kept in the first three hours of a month and in the last, when clocks may go back over its end")
  func ends() async throws {
    try await withTerms { queue in
      for moment in ["2021-02-28T21:00:01Z", "2021-03-01T02:59:59Z"] {
        try await queue.execute("DELETE FROM analysis.terms")
        try await moveClock(queue, moment)
        for key in ["a", "b", "c"] { _ = try await queue.create([Ask("u", key: key + moment)]) }
        #expect(try await queue.number("SELECT count(*) FROM analysis.terms") == 0)
      }
      try await moveClock(queue, "2021-03-01T03:00:00Z")
      _ = try await queue.create([Ask("u", key: "d")])
      #expect(try await queue.number("SELECT count(*) FROM analysis.terms") == 1)
    }
  }

  @Test("go with the name: another name, or none, is not found by the former one")
  func names() async throws {
    try await withTerms { queue in
      try await queue.execute("SELECT analysis.rename_user(0::smallint, 'u', 'v')")
      #expect(try await queue.submit([Ask("u", key: "x")])[0].reason == "unknown_user")
      for _ in 0..<2 { #expect(try await !goesByKept(queue, user: "v")) }
      try await queue.execute("SELECT analysis.erase_user(0::smallint, 'v', NULL, true)")
      #expect(try await queue.number("SELECT count(*) FROM analysis.terms") == 0)
      #expect(try await queue.submit([Ask("v", key: "x")])[0].reason == "unknown_user")
    }
  }

  @Test(
    "are looked at again by a submit that waited for who takes them away",
    arguments: [
      "SELECT analysis.rename_user(0::smallint, 'u', 'v')",
      "SELECT analysis.erase_user(0::smallint, 'u', NULL, true)",
    ])
  func waited(change: String) async throws {
    try await withTerms { queue in
      try await withThrowingTaskGroup(of: Answer.self) { group in
        try await queue.pool.transaction { open in
          _ = try await open.query(change)
          group.addTask { try await queue.submit([Ask("u", key: "late")])[0] }
          try await queue.untilSomebodyWaits()
        }
        for try await answer in group { #expect(answer.reason == "unknown_user") }
      }
    }
  }

  @Test("do not outlive a plan that is given while a submit that keeps them is open, and wait for no such")
  func given() async throws {
    try await withTerms { queue in
      // The submit first: the plan comes after it.
      try await queue.execute("DELETE FROM analysis.terms")
      try await withThrowingTaskGroup(of: Void.self) { group in
        try await queue.pool.transaction { open in
          _ = try await queue.submit([Ask("u", key: "open")], on: open)
          group.addTask {
            try await queue.execute("SELECT analysis.set_plan(0::smallint, 'u', 'free', NULL)")
          }
          try await queue.untilSomebodyWaits()
        }
        try await group.waitForAll()
      }
      #expect(try await queue.submit([Ask("u", key: "after")])[0].limit == 5)
      // The plan first: the submit does not wait, and keeps no terms of before.
      try await queue.execute("DELETE FROM analysis.terms")
      try await queue.pool.transaction { open in
        _ = try await open.query("SELECT analysis.set_plan(0::smallint, 'u', 'premium', NULL)")
        #expect(try await queue.submit([Ask("u", key: "beside")])[0].limit == 5)
      }
      #expect(try await queue.submit([Ask("u", key: "then")])[0].limit != 5)
    }
  }

  @Test("let no more jobs wait than may, with those that are scheduled for another month")
  func room() async throws {
    try await withTerms { queue in
      try await queue.execute("UPDATE analysis.setting SET value = '10' WHERE name = 'max_waiting_per_user'")
      _ = try await queue.create([Ask("u", key: "fourth")])
      _ = try await queue.create((0..<3).map { Ask("u", key: "march \($0)", at: 1_616_000_000) })
      // Another lane: the limit is of all.
      var answers: [String?] = []
      for number in 0..<5 as Range<Int16> {
        answers += try await queue.submit([Ask("u", kind: number % 2 + 1, key: "more \(number)")]).map(
          \.reason)
      }
      #expect(answers == [nil, nil, nil, "waiting_limit", "waiting_limit"])
      _ = try await queue.cancel(
        try await queue.numbers("SELECT id FROM analysis.job LIMIT 2").map(Int64.init))
      #expect(try await queue.submit([Ask("u", key: "again")])[0].reason == nil)
    }
  }

  @Test("leave the units that come to 80 % and to all of the limit to be told, and the limit holds")
  func limit() async throws {
    try await withTerms { queue in
      try await queue.execute("SELECT analysis.set_plan_limit('premium', 12, NULL)")
      var told: [String] = []
      for number in 0..<10 {
        let answer = try await queue.submit([Ask("u", key: "unit \(number)")])[0]
        let most = try await queue.text("SELECT most::text FROM analysis.terms")
        told.append("\(answer.reason ?? "used") \(answer.used ?? 0) \(most)")
      }
      #expect(
        told == [
          "used 4 9", "used 5 9", "used 6 9", "used 7 9", "used 8 9", "used 9 9", "used 10 11", "used 11 11",
          "used 12 11", "quota 12 11",
        ])
    }
  }

  @Test(
    "do not outlive what a transaction changes that does not see them, or it ends with 40001",
    arguments: [IsolationLevel.repeatableRead, .serializable])
  func olderSnapshot(isolation: IsolationLevel) async throws {
    try await withTerms { queue in
      try await queue.execute("DELETE FROM analysis.terms")
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.pool.transaction(isolation: isolation) { open in
          _ = try await open.query("SELECT FROM analysis.setting")
          _ = try await queue.submit([Ask("u", key: "between")])
          _ = try await open.query("SELECT analysis.set_plan(0::smallint, 'u', 'free', NULL)")
        }
      }
      #expect(error?.sqlState == "40001")
      // With nothing between it is as ever.
      try await queue.pool.transaction(isolation: isolation) { open in
        _ = try await open.query("SELECT analysis.set_plan(0::smallint, 'u', 'free', NULL)")
      }
      #expect(try await queue.submit([Ask("u", key: "after")])[0].limit == 5)
    }
  }
}
