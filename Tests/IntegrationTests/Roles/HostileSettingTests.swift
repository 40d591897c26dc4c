import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("Settings of the database and of the logins that would change what is done")
struct HostileSettingTests {
  /// Makes a database and its logins begin each session with them.
  private func with(
    reach: @escaping @Sendable (TestDatabase, String) -> String, _ body: (RoleLogins) async throws -> Void
  ) async throws {
    try await withQueue { (queue) async throws in
      try await queue.execute(HostileSettings.script(for: "DATABASE \(queue.database.name)"))
      let database = try await queue.direct().database
      try await RoleLogins.with(queue, reach: { reach(database, $0) }) { (logins) async throws in
        for who in RoleLogins.Who.allCases {
          try await queue.execute(
            HostileSettings.script(for: "ROLE \(logins.name(who)) IN DATABASE \(queue.database.name)"))
        }
        try await body(logins)
      }
    }
  }

  @Test("On a direct connection the whole job is done as without them")
  func direct() async throws {
    try await with(reach: { "\($0.conninfo) user=\($1)" }) { try await $0.wholeJob() }
  }

  @Test(
    "Through a pooler in transaction mode each program says at once what to change",
    .enabled(if: Pooler.isAvailable, "PgBouncer is not installed (package pgbouncer)"),
    .enabled(if: TestServer.isPrivate),
    arguments: [
      "default_transaction_isolation = 'repeatable read'", "row_security = off", "array_nulls = off",
    ])
  func pooled(setting: String) async throws {
    try await withQueue { (queue) async throws in
      try await withPooler(before: queue.database.name) { (pooler) async throws in
        try await queue.execute("ALTER DATABASE \(queue.database.name) SET \(setting)")
        let name = String(setting.prefix { $0 != " " })
        let environment = ["ANALYSIS_DATABASE": pooler.conninfo(database: queue.database.name)]
        for (program, words) in [
          ("analysisctl", ["status"]), ("analysisctl", ["users", "add", "clinic-1"]),
          ("analysisctl", ["migrate"]),
          ("analysis-worker", ["--endpoint", "http://127.0.0.1:9", "--drain"]),
          ("analysis-gateway", ["--listen", "127.0.0.1:0"]),
        ] {
          let ended = try await Executable(program, words, environment: environment).ended()
          #expect(ended.code == 64, "\(program) \(words): \(ended.messages)")
          #expect(
            ended.messages.contains("ALTER ROLE postgres RESET \(name)"), "\(program): \(ended.messages)")
        }
      }
    }
  }
}
