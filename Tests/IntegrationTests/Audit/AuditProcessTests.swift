import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite("The audit, by the real executables")
struct AuditProcessTests {
  private func run(_ words: [String], _ environment: [String: String]) async throws -> Executable.Ended {
    try await Executable("analysisctl", words, environment: environment).ended()
  }

  @Test(
    "what a command does is recorded with the account and the machine, and the exit codes are those promised")
  func commands() async throws {
    try await withQueue { queue in
      let environment = queue.environment
      try await queue.addUser("clinic-1")
      let jobs = try await queue.submit(2, user: "clinic-1", image: drawnPicture())
      let cancelled = try await run(["jobs", "cancel", "\(jobs[0])", "--reason", "sent twice"], environment)
      #expect(cancelled.code == 0, "\(cancelled.messages)")
      let entry = try await queue.text(
        "SELECT concat_ws('|', action, object, os_user, host, reason) FROM analysis.audit")
      let (user, host) = (NSUserName(), try Self.host())
      #expect(entry == "cancel|job:\(jobs[0])|\(user)|\(host)|sent twice")

      let whole = try await run(["audit", "verify"], environment)
      #expect(whole.code == 0, "\(whole.messages)")
      let end = try #require(whole.output.split(separator: "\n").last.map(String.init))
      #expect(try await run(["report", "analyses"], environment).code == 0)
      #expect(try await run(["audit", "verify", "--expect", end], environment).code == 0)
      #expect(
        try await run(["audit", "list", "--action", "report", "--json"], environment).output.contains(
          #""id":2"#))
      try await queue.pool.execute(
        script: """
          SET session_replication_role = replica; DELETE FROM analysis.audit WHERE id = 1; SET session_replication_role = DEFAULT
          """)
      let broken = try await run(["audit", "verify"], environment)
      #expect(broken.code == 1 && broken.output.contains("entry 1: the entry is missing"), "\(broken.output)")
      #expect(try await run(["audit", "verify", "--expect", "1"], environment).code == 64)
      let nowhere = ["ANALYSIS_DATABASE": "host=/nonexistent", "ANALYSIS_CONNECT_TIMEOUT": "0s"]
      #expect(try await run(["audit", "verify"], nowhere).code == 69)
    }
  }

  @Test(
    "a worker is recorded where it begins to read images and where it ends, also one that was killed: by its beginning"
  )
  func worker() async throws {
    try await withQueue { queue in
      try await RunningEndpoint.with { endpoint in
        try await queue.addUser("clinic-1")
        _ = try await queue.submit(3, user: "clinic-1", image: drawnPicture())
        let entries =
          "SELECT string_agg(concat_ws(' ', action, os_user, host), ', ' ORDER BY id) FROM analysis.audit"
        let who = "\(NSUserName()) \(try Self.host())"
        let drained = try await Executable(
          "analysis-worker", ["--drain", "--endpoint", endpoint.url, "--drain-horizon", "10s"],
          environment: queue.environment
        ).ended()
        #expect(drained.code == 0, "\(drained.messages)")
        #expect(try await queue.text(entries) == "worker_start \(who), worker_stop \(who)")
        #expect(try await queue.number("SELECT count(DISTINCT object)::int FROM analysis.audit") == 1)

        let killed = try Executable(
          "analysis-worker", ["--endpoint", endpoint.url], environment: queue.environment)
        let after = "worker_stop \(who), worker_start \(who)"
        try await eventually { try await queue.text(entries).hasSuffix(after) }
        killed.send(SIGKILL)
        _ = await killed.ended()
        #expect(try await queue.text(entries).hasSuffix(after))
        #expect(try await run(["audit", "verify"], queue.environment).code == 0)
      }
    }
  }

  @Test("a worker whose role may not record itself works, and says so once")
  func olderRights() async throws {
    try await withQueue { queue in
      try await RunningEndpoint.with { endpoint in
        try await queue.addUser("clinic-1")
        _ = try await queue.submit(1, user: "clinic-1", image: drawnPicture())
        let role = "worker_of_\(queue.database.name)"
        try await queue.pool.execute(
          script: """
            CREATE ROLE \(role) LOGIN IN ROLE analysis_worker;
            REVOKE EXECUTE ON FUNCTION analysis.act_as FROM analysis_worker
            """)
        let drained = try await Executable(
          "analysis-worker", ["--drain", "--endpoint", endpoint.url, "--drain-horizon", "10s"],
          environment: ["ANALYSIS_DATABASE": queue.database.conninfo + " user=\(role)"]
        ).ended()
        try await dropLoginRole(role, on: queue.pool)
        #expect(drained.code == 0, "\(drained.messages)")
        #expect(drained.messages.contains("Cannot record the start of this worker"), "\(drained.messages)")
        #expect(try await queue.number("SELECT count(*)::int FROM analysis.result") == 1)
      }
    }
  }

  @Test(
    "through a pooler in transaction mode who acts goes with the action, and with no other",
    .enabled(if: Pooler.isAvailable, "PgBouncer is not installed (package pgbouncer)"),
    .enabled(if: TestServer.isPrivate))
  func pooled() async throws {
    try await withQueue { queue in
      let target = queue.database
      try await withPooler(before: target.name, settings: ["default_pool_size": "1"]) { pooler in
        let environment = ["ANALYSIS_DATABASE": pooler.conninfo(database: target.name)]
        let plain = ConnectionPool(
          ConnectionConfiguration(pooler.conninfo(database: target.name)), on: queue.loop)
        for round in 1...3 {
          let paused = try await run(["pause", "--reason", "round \(round)"], environment)
          #expect(paused.code == 0, "\(paused.messages)")
          _ = try await plain.query("SELECT analysis.resume('all', '')")
        }
        _ = try await plain.query("SELECT analysis.chain_audit(100, true)")
        await plain.close()
        let entries = try await queue.pool.query(
          "SELECT concat_ws(' ', action, os_user, reason) FROM analysis.audit ORDER BY id"
        ).map { try $0.string(0) }
        #expect(entries == (1...3).flatMap { ["pause \(NSUserName()) round \($0)", "resume"] })
      }
    }
  }

  private static func host() throws -> String {
    try String(contentsOfFile: "/proc/sys/kernel/hostname", encoding: .utf8).trimmingCharacters(in: .newlines)
  }
}
