import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The months and their states")
struct MonthDirectoryTests {
  private func directory(_ queue: QueueFixture, _ moment: String) throws -> MonthDirectory {
    MonthDirectory(queue.pool, moment: try Date(moment, strategy: .iso8601).timeIntervalSince1970)
  }

  private func states(_ queue: QueueFixture, at moment: String) async throws -> [String] {
    try await directory(queue, moment).list().map { "\($0.period) \($0.state.rawValue)" }
  }

  /// A user who used something in September 2026.
  private func withSeptember(_ body: (QueueFixture) async throws -> Void) async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("user")
      try await queue.execute(
        """
        UPDATE analysis.account SET created_at = '2026-01-01Z';
        UPDATE analysis.account_plan SET valid_from = '2026-01-01Z';
        INSERT INTO analysis.usage (shard, user_id, period, refused)
        SELECT shard, user_id, 24320, 1 FROM analysis.account
        """)
      try await body(queue)
    }
  }

  @Test("of an installation in which nothing was used there is the running one alone, in its zone")
  func fresh() async throws {
    try await withCheckedQueue { (queue) async throws in
      #expect(try await states(queue, at: "2020-10-31T20:00:00Z") == ["2020-10 running"])
      try await queue.execute("UPDATE analysis.setting SET value = 'Asia/Jakarta' WHERE name = 'zone'")
      #expect(try await states(queue, at: "2020-10-31T20:00:00Z") == ["2020-11 running"])
    }
  }

  @Test(
    "running until it is over everywhere on earth, then in grace, then due, and closed when somebody closes it"
  )
  func moments() async throws {
    try await withSeptember { (queue) async throws in
      #expect(
        try await states(queue, at: "2026-10-01T11:59:59Z") == ["2026-09 running", "2026-10 running"])
      #expect(try await states(queue, at: "2026-10-01T12:00:00Z") == ["2026-09 grace", "2026-10 running"])
      #expect(try await states(queue, at: "2026-10-04T11:59:59Z") == ["2026-09 grace", "2026-10 running"])
      #expect(try await states(queue, at: "2026-10-04T12:00:00Z") == ["2026-09 due", "2026-10 running"])
      let september = try #require(Period("2026-09"))
      #expect(try await directory(queue, "2026-10-04T11:59:59Z").close(september) == false)
      let due = try directory(queue, "2026-10-04T12:00:00Z")
      let preview = try await due.preview(september)
      #expect(preview.users == 1 && preview.active == 0 && preview.adjustments == 0)
      #expect(try await due.close(september))
      #expect(try await due.close(september) == false)
      let closed = try await due.list()[0]
      #expect(closed.state == .closed && closed.lines == 1 && closed.closedAt == closed.dueAt)
    }
  }

  @Test("a gap between months with use is a month like the others, and one that was closed stays in the list")
  func gap() async throws {
    try await withSeptember { (queue) async throws in
      #expect(
        try await states(queue, at: "2026-12-20T00:00:00Z") == [
          "2026-09 due", "2026-10 due", "2026-11 due", "2026-12 running",
        ])
      #expect(try await directory(queue, "2026-12-20T00:00:00Z").close(try #require(Period("2026-09"))))
      try await queue.execute("DELETE FROM analysis.usage")
      #expect(try await states(queue, at: "2026-10-20T00:00:00Z") == ["2026-09 closed", "2026-10 running"])
    }
  }

  @Test("who may not close months is refused at once, before there is one to close")
  func rights() async throws {
    try await withCheckedQueue { (queue) async throws in
      for role in ["auditor", "reporter"] {
        try await withLoginRole(on: queue.pool, named: role, in: ["analysis_\(role)"]) {
          (login) async throws in
          try await withQueue(in: queue.database.login(login)) { (theirs) async throws in
            let months = MonthDirectory(theirs.pool)
            #expect(try await months.list().count == 1)
            guard role == "auditor" else { return try await months.requireRight() }
            let error = await #expect(throws: JobQueueError.self) { try await months.requireRight() }
            #expect(error?.code == .permission)
          }
        }
      }
    }
  }
}
