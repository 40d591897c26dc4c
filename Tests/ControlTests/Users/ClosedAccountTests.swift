import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue

@Suite("The account of an erased person is closed")
struct ClosedAccountTests {
  @Test("nothing is submitted for it, one alone or many, and nothing is set")
  func closed() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      _ = try await queue.complete(try await worked(queue))
      // The name that it has now is in the same shard, so that a guess reaches it.
      _ = try await queue.pool.query("SELECT * FROM analysis.erase_user(0::smallint, 'u', NULL, false)")
      let name = try #require(try await queue.texts("SELECT user_ref FROM analysis.account").first)
      #expect(name.hasPrefix("erased-"))
      let used = try await queue.usage(name)
      for asks in [[Ask(name)], Ask(name) * 3] {
        for answer in try await queue.submit(asks) { #expect(answer.reason == "unknown_user") }
      }
      #expect(try await queue.usage(name) == used)
      for sql in [
        "SELECT analysis.set_plan(0::smallint, '\(name)', 'free', NULL)",
        "SELECT analysis.set_zone(0::smallint, '\(name)', 'UTC')",
        "SELECT analysis.set_photo(0::smallint, '\(name)', 'https://img.example.org/1')",
        "SELECT analysis.assign_clinic(0::smallint, '\(name)', NULL)",
      ] {
        #expect(try await queue.pool.query(sql).single().bool(0) == false, "\(sql)")
      }
      let periods = try await queue.pool.query(
        "SELECT * FROM analysis.set_period(0::smallint, '\(name)', 15::smallint, NULL)")
      #expect(periods.isEmpty)
      #expect(try await queue.number("SELECT count(*) FROM analysis.profile") == 0)
      #expect(try await queue.entries().map(\.action) == ["erase"])
    }
  }

  @Test("an erasure that says not whether to cancel is refused, and cancels nothing")
  func unsaid() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      _ = try await queue.create([Ask("u")])
      let error = await #expect(throws: PostgreSQLError.self) {
        try await queue.execute("SELECT o_open FROM analysis.erase_user(0::smallint, 'u', NULL, NULL)")
      }
      #expect(error?.sqlState == "22023")
      #expect(try await queue.number("SELECT count(*) FROM analysis.ready") == 1)
      #expect(try await queue.texts("SELECT user_ref FROM analysis.account") == ["u"])
    }
  }

  private func worked(_ queue: QueueFixture) async throws -> [Claimed] {
    _ = try await queue.create([Ask("u")])
    return try await queue.claim()
  }
}
