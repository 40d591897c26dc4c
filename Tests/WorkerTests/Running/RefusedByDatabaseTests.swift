import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support
@testable import Worker

@Suite("What the database refuses")
struct RefusedByDatabaseTests {
  @Test(
    "An image that the database cannot read any more fails its own job alone, after its attempts",
    .enabled("this server came without the module pg_surgery") {
      try await TestServer.shared.offers(extension: "pg_surgery")
    })
  func damagedImage() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      let jobs = try await queue.submit(12, maxAttempts: 2)
      // As a bad block of the disk does it: the image's bytes are stored apart from its row, and are gone.
      let image = try await queue.pool.query(
        "SELECT i.tableoid::regclass::text, i.ctid::text, c.reltoastrelid::regclass::text FROM analysis.image i JOIN pg_class c ON c.oid = i.tableoid JOIN analysis.job j ON j.image_period = i.period AND j.image_id = i.id WHERE j.id = \(jobs[4].value)"
      ).single()
      let (table, place, toast) = (try image.string(0), try image.string(1), try image.string(2))
      _ = try await queue.pool.query(
        "UPDATE \(table) SET bytes = decode(repeat(md5(random()::text), 400), 'hex'), byte_count = 6400 WHERE ctid = '\(place)'"
      )
      _ = try await queue.pool.query("CREATE EXTENSION pg_surgery")
      _ = try await queue.pool.query(
        "SELECT heap_force_kill('\(toast)'::regclass, ARRAY(SELECT ctid FROM \(toast)))")
      let summary = try await Running.drain(queue, try Backend())
      #expect(summary.completed == 11 && summary.dead == 1 && summary.retried == 1)
      let death = try await queue.pool.query("SELECT job_id, class, code, message FROM analysis.dead")
        .single()
      #expect(try death.int64(0) == jobs[4].value)
      #expect(try death.string(1) == "image" && death.string(2) == "image_unreadable")
      #expect(try death.string(3).contains("missing chunk"))
      try await queue.expectSound()
    }
  }

  @Test(
    "A drain whose role may not do what it needs ends and says so, with the jobs unharmed",
    arguments: ["EXECUTE ON ALL FUNCTIONS IN SCHEMA analysis", "EXECUTE ON FUNCTION analysis.work"])
  func missingRight(right: String) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let backend = try Backend()
      _ = try await queue.pool.query("REVOKE \(right) FROM analysis_worker")
      try await withLogin(in: queue, of: ["analysis_worker"]) { database, _ in
        let worker = try Running(database, [.throat: backend.url]) { $0.drainHorizon = .seconds(5) }
        let error = await #expect(throws: WorkerError.self) { try await worker.summary() }
        #expect(error?.kind == .permission)
        #expect(error?.description.contains("role analysis_worker does not have") == true)
        #expect(error?.description.contains("Run analysisctl migrate") == true)
      }
      try await queue.expectSound()
    }
  }

  @Test(
    "A drain whose login lacks the role ends and names the role and who has it",
    arguments: [[], ["analysis_reporter"]])
  func missingRole(groups: [String]) async throws {
    try await withQueue { queue in
      let backend = try Backend()
      try await withLogin(in: queue, of: groups) { database, login in
        let worker = try Running(database, [.throat: backend.url]) { $0.drainHorizon = .seconds(5) }
        let error = await #expect(throws: WorkerError.self) { try await worker.summary() }
        #expect(error?.kind == .permission)
        let said = try #require(error?.description)
        #expect(
          said.hasPrefix("Login \(login) may not do this: analysis-worker needs the role analysis_worker. "))
        #expect(said.contains(/Who may:|No login has it:/), "\(said)")
        // Who has no role yet may be meant to have this one.
        let grant = "An administrator of the database can grant it: GRANT analysis_worker TO \(login);"
        #expect(said.hasSuffix(grant) == groups.isEmpty, "\(said)")
        #expect(said.contains("GRANT") == groups.isEmpty, "\(said)")
      }
    }
  }

  @Test(
    "A lasting worker without its rights tries on, says little and what to do, and works once it has them",
    arguments: [false, true])
  func granted(starts: Bool) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let backend = try Backend()
      _ = try await queue.pool.query(
        "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA analysis FROM analysis_worker")
      if starts {
        // What it reads before its first claim; without, it waits before that.
        _ = try await queue.pool.query("GRANT EXECUTE ON FUNCTION analysis.setting_value TO analysis_worker")
      }
      try await withLogin(in: queue, of: ["analysis_worker"]) { database, _ in
        let worker = try Running(database, [.throat: backend.url])
        try await eventually("refusals") { worker.count("database_errors") >= (starts ? 12 : 4) }
        let refusals = worker.count("database_errors")
        let said = worker.log.lines.filter { $0.contains("does not have") }
        // Three tasks ask: claims, leases, housekeeping. Each says the first, the second, the fourth and so on. The start
        // that cannot be recorded is said once.
        #expect(!said.isEmpty)
        #expect(said.count <= 1 + 3 * (1 + Int.bitWidth - refusals.leadingZeroBitCount), "\(said)")
        #expect(said.allSatisfy { $0.contains("Run analysisctl migrate") })
        _ = try await queue.pool.query("SELECT analysis.apply_rights()")
        try await eventually("every result") { try await queue.results == 3 }
        worker.stop()
        #expect(try await worker.summary().completed == 3)
      }
      try await queue.expectSound()
    }
  }

  @Test("A shard that fails holds up no other, and fills no log because the others fare well")
  func failingShard() async throws {
    try await withQueue(shards: 3) { queue in
      for shard in 0..<3 {
        for user in try await queue.addUsers(1, inShard: shard) { try await queue.submit(10, user: user) }
      }
      _ = try await queue.pool.query("ALTER TABLE analysis.lease ADD CONSTRAINT poison CHECK (shard <> 1)")
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend])
      try await eventually("the other shards' results") { try await queue.results == 20 }
      try await eventually("failures") { worker.count("database_errors") >= 8 }
      let failures = worker.count("database_errors")
      let said = worker.log.lines.filter { $0.contains("poison") }
      #expect(said.count <= 1 + Int.bitWidth - failures.leadingZeroBitCount, "\(said)")
      _ = try await queue.pool.query("ALTER TABLE analysis.lease DROP CONSTRAINT poison")
      try await eventually("every result") { try await queue.results == 30 }
      worker.stop()
      #expect(try await worker.summary().completed == 30)
      #expect(backend.calls.count == 30)
      try await queue.expectSound()
    }
  }

  /// Lends a login with some roles.
  private func withLogin(
    in queue: QueueFixture, of groups: [String],
    _ body: (ConnectionConfiguration, String) async throws -> Void
  ) async throws {
    try await withLoginRole(on: queue.pool, named: "worker", in: groups) { role in
      var database = queue.database.configuration
      database.keywords["user"] = role
      try await body(database, role)
    }
  }
}
