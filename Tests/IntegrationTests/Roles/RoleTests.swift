import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("The whole job by login roles that may do no more than their own, and by the real executables")
struct RoleTests {
  @Test("on a direct connection: office, back-end, worker, accounts and auditor")
  func direct() async throws {
    try await withTestDatabase { (database) async throws in
      let administrator = ["ANALYSIS_DATABASE": database.conninfo]
      let migrated = try await Executable("analysisctl", ["migrate"], environment: administrator).ended()
      #expect(migrated.code == 0 && migrated.messages == "", "\(migrated.messages)")
      try await withQueue(in: database) { (queue) async throws in
        try await RoleLogins.with(queue, reach: { "\(database.conninfo) user=\($0)" }) {
          try await $0.wholeJob()
        }
      }
    }
  }

  @Test(
    "through a pooler in transaction mode",
    .enabled(if: Pooler.isAvailable, "PgBouncer is not installed (package pgbouncer)"),
    .enabled(if: TestServer.isPrivate))
  func pooled() async throws {
    try await withQueue { (queue) async throws in
      let names = RoleLogins.names(in: queue.database.name)
      try await withPooler(
        before: queue.database.name, settings: ["default_pool_size": "4"], users: names
      ) { (pooler) async throws in
        let name = queue.database.name
        try await RoleLogins.with(queue, reach: { pooler.conninfo(database: name, user: $0) }) {
          try await $0.wholeJob()
        }
      }
    }
  }

  @Test(
    "A restricted office sees its clinic's users in files too, and its nightly run says who has to close the month"
  )
  func clinics() async throws {
    try await withQueue { (queue) async throws in
      let database = queue.database
      let reach: @Sendable (String) -> String = { "\(database.conninfo) user=\($0)" }
      try await RoleLogins.with(queue, reach: reach) { (logins) async throws in
        for user in ["north-1", "south-1"] {
          try await logins.expect(.office, ["users", "add", user])
          let clinic = String(user.prefix(5))
          try await logins.expect(.office, ["clinics", "add", clinic])
          try await logins.expect(.office, ["clinics", "assign", user, clinic])
        }
        try await logins.expect(.office, ["clinics", "grant", logins.name(.accounts), "north"])
        let list = try await logins.run(.accounts, ["users", "list", "--json"])
        #expect(list.output.contains("north-1") && !list.output.contains("south-1"))
        try await queue.pool.execute(
          script: """
            UPDATE analysis.account SET created_at = created_at - interval '100 days';
            INSERT INTO analysis.usage (shard, user_id, period)
              SELECT shard, user_id, analysis.period_of(now(), 'UTC') - 2 FROM analysis.account
            """)
        let folder = try TemporaryFolder()
        let due = ["report", "usage", "--due", folder.url.path]
        let close = ["month", "close", "--due", "--yes"]
        let refused = try await logins.run(.accounts, close)
        #expect(refused.code == 77 && refused.messages.contains("for all"), "\(refused.messages)")
        let open = try await logins.run(.accounts, due)
        #expect(open.code == 6 && open.output.contains("analysisctl month close"), "\(open.messages)")
        // The month before may be due as well, as the day of the month has it.
        try await logins.expect(.administrator, close)
        try await logins.expect(.accounts, due)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter {
          $0.hasSuffix(".csv")
        }
        let file = try #require(files.sorted().first)
        let text = try String(contentsOfFile: folder.path(file), encoding: .utf8)
        #expect(text.contains("north-1") && !text.contains("south-1"), "\(text)")
      }
    }
  }
}
