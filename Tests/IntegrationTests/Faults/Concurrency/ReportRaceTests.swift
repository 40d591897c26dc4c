import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("Months that are closed while others work")
struct ReportRaceTests {
  @Test("by six closings at once: one statement is written, and every file holds the same bytes")
  func reporters() async throws {
    try await withQueue { queue in
      for number in 1...30 { try await queue.addUser("clinic-\(number)") }
      // They were there last month, and some were refused then.
      _ = try await queue.pool.query(
        "UPDATE analysis.account SET created_at = now() - interval '70 days'")
      _ = try await queue.pool.query(
        "UPDATE analysis.account_plan SET valid_from = now() - interval '70 days'")
      _ = try await queue.pool.query(
        """
        INSERT INTO analysis.usage (shard, period, user_id, refused)
        SELECT shard, analysis.period_of(now(), 'UTC') - 2, user_id, user_id FROM analysis.account
        """)
      let month = try await queue.text(
        "SELECT analysis.period_text((analysis.period_of(now(), 'UTC') - 2)::smallint)")
      let closings = try (0..<6).map { _ in
        try Executable("analysisctl", ["month", "close", month, "--yes"], environment: queue.environment)
      }
      var codes: [Int32] = []
      for closing in closings { codes.append(await closing.ended().code) }
      #expect(codes.sorted() == [0, 5, 5, 5, 5, 5])
      let folder = try TemporaryFolder()
      let programs = try (0..<6).map { number in
        try Executable(
          "analysisctl",
          ["report", "usage", "--month", month, "--format", "csv", "--out", folder.path("\(number).csv")],
          environment: queue.environment)
      }
      for program in programs {
        let ended = await program.ended()
        #expect(ended.code == 0, "\(ended.messages)")
      }
      let files = try (0..<6).map { try Data(contentsOf: URL(filePath: folder.path("\($0).csv"))) }
      #expect(Set(files).count == 1)
      #expect(String(decoding: files[0], as: UTF8.self).components(separatedBy: "\r\n").count == 32)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement") == 1)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.statement_line") == 30)
    }
  }

  @Test(
    "while submits of that month run: the statement stays as it is, and what it missed is adjusted in the next"
  )
  func submitsMeanwhile() async throws {
    try await withQueue { queue in
      let users = (1...4).map { "clinic-\($0)" }
      for user in users { try await queue.addUser(user) }
      let picture = try await drawnPicture()
      let month = try await queue.number("SELECT analysis.period_of(now(), 'UTC')::int")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for user in users {
          group.addTask {
            for _ in 0..<30 {
              _ = try await queue.submit(2, user: user, image: picture)
            }
          }
        }
        group.addTask {
          // In the middle, as far as one can tell.
          try await eventually {
            try await queue.number("SELECT count(*)::int FROM analysis.job") >= 40
          }
          let closed = try await queue.pool.query(
            "SELECT analysis.close_usage(\(month)::smallint, now() + interval '80 days')"
          ).single().bool(0)
          #expect(closed)
        }
        try await group.waitForAll()
      }
      let stated =
        "SELECT coalesce(sum(used), 0)::int FROM analysis.statement_line WHERE for_period = \(month)"
      let first = try await queue.number(stated)
      let lines =
        "SELECT md5(string_agg(t::text, '|' ORDER BY line)) FROM analysis.statement_line t WHERE period = \(month)"
      let bytes = try await queue.text(lines)
      #expect(try await queue.number("SELECT sum(used)::int FROM analysis.usage") == 240)
      #expect(first <= 240)
      _ = try await queue.pool.query(
        "SELECT analysis.close_usage(\(month + 1)::smallint, now() + interval '120 days')")
      #expect(try await queue.number(stated) == 240)
      #expect(try await queue.text(lines) == bytes)
      try await queue.expectSound()
    }
  }
}
