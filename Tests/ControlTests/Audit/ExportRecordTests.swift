import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue

@Suite("An export is in the audit before anything is read")
struct ExportRecordTests {
  /// The parts of an export that a mark opens, each as a statement.
  private func parts(_ user: Int, _ mark: String) -> [String] {
    [
      "SELECT analysis.export_user(0::smallint, \(user), '\(mark)')",
      "SELECT * FROM analysis.export_jobs(0::smallint, \(user), '\(mark)')",
      """
      SELECT * FROM analysis.export_images(0::smallint, \(user), '\(mark)',
        (SELECT max(period) FROM analysis.image), 0, 10)
      """,
    ]
  }

  private func expectRefused(_ statements: [String], in queue: QueueFixture) async throws {
    for sql in statements {
      let error = await #expect(throws: PostgreSQLError.self) { try await queue.pool.query(sql) }
      #expect(
        error?.sqlState == "42501" && error?.message == "the audit has no entry of this reading", "\(sql)")
    }
  }

  @Test("so what was opened and committed can be read, and leaves its entry though the reader hangs up")
  func opened() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      _ = try await queue.create([Ask("u")])
      let row = try await queue.pool.query(
        "SELECT o_user_id, o_export FROM analysis.open_export(0::smallint, 'u')"
      )
      .single()
      let (user, mark) = (try row.int(0), try row.string(1))
      for sql in parts(user, mark) {
        try await queue.pool.withConnection { connection in
          try await connection.execute(script: "BEGIN")
          #expect(try await connection.query(sql).count == 1, "\(sql)")
          try await connection.execute(script: "ROLLBACK")
        }
      }
      let entries = try await queue.entries()
      #expect(entries.map(\.action) == ["export"] && entries.first?.object == "user:\(user)")
    }
  }

  @Test(
    "so nothing is read that was not opened, not of this user, or not committed yet, whatever the client defers"
  )
  func notOpened() async throws {
    try await withCheckedQueue { (queue) async throws in
      try await queue.addUser("u")
      try await queue.addUser("other")
      _ = try await queue.create([Ask("u"), Ask("other")])
      let users = try await queue.numbers("SELECT user_id FROM analysis.account ORDER BY user_ref DESC")
      try await expectRefused(parts(users[0], "1"), in: queue)
      let mark = try await queue.texts("SELECT o_export FROM analysis.open_export(0::smallint, 'other')")[0]
      try await expectRefused(parts(users[0], mark), in: queue)
      for first in ["", "SET CONSTRAINTS ALL IMMEDIATE; SAVEPOINT s;"] {
        for part in 0..<3 {
          try await queue.pool.withConnection { connection in
            try await connection.execute(script: "BEGIN; \(first)")
            let open = try await connection.query(
              "SELECT o_export FROM analysis.open_export(0::smallint, 'u')"
            )
            .single().string(0)
            let sql = parts(users[0], open)[part]
            let error = await #expect(throws: PostgreSQLError.self) { try await connection.query(sql) }
            #expect(error?.sqlState == "42501", "\(sql)")
            try await connection.execute(script: "ROLLBACK")
          }
        }
      }
      #expect(try await queue.entries().map(\.object) == ["user:\(users[1])"])
    }
  }
}
