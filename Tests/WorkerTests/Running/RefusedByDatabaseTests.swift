import AnalysisCore
import JobQueue
import Operations
import PostgreSQL
import TestSupport
import Testing
import Worker

@Suite("What the database refuses")
struct RefusedByDatabaseTests {
  @Test(
    "An image that the database cannot read any more fails its own job alone, after its attempts",
    .enabled("this server came without the module pg_surgery") {
      try await TestServer.shared.offers(extension: "pg_surgery")
    })
  func damagedImage() async throws {
    try await Queue.with { queue in
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
    try await Queue.with { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let backend = try Backend()
      try await withRole(in: queue, without: right) { database, _ in
        let worker = try Running(database, [.throat: backend.url]) { $0.drainHorizon = .seconds(5) }
        let error = await #expect(throws: WorkerError.self) { try await worker.summary() }
        #expect(error?.kind == .permission)
        #expect(error?.description.contains("analysis.allow") == true)
      }
      try await queue.expectSound()
    }
  }

  @Test(
    "A lasting worker without its rights tries on, says little and what to do, and works once it has them")
  func granted() async throws {
    try await Queue.with { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let backend = try Backend()
      try await withRole(in: queue, without: "EXECUTE ON ALL FUNCTIONS IN SCHEMA analysis") {
        database, role in
        let worker = try Running(database, [.throat: backend.url])
        try await queue.wait(for: "refusals") { worker.count("database_errors") >= 12 }
        let refusals = worker.count("database_errors")
        let said = worker.log.lines.filter { $0.contains("may not do this") }
        // Three tasks ask: claims, leases, housekeeping. Each says the first, the second, the fourth and so on.
        #expect(said.count <= 3 * (1 + Int.bitWidth - refusals.leadingZeroBitCount), "\(said)")
        #expect(said.allSatisfy { $0.contains("analysis.allow") })
        _ = try await queue.pool.query("SELECT analysis.allow('\(role)', 'worker')")
        try await queue.wait(for: "every result") { try await queue.results == 3 }
        worker.stop()
        #expect(try await worker.summary().completed == 3)
      }
      try await queue.expectSound()
    }
  }

  @Test("A shard that fails holds up no other, and fills no log because the others fare well")
  func failingShard() async throws {
    try await Queue.with(shards: 3) { queue in
      for shard in 0..<3 {
        for user in try await queue.addUsers(1, inShard: shard) { try await queue.submit(10, user: user) }
      }
      _ = try await queue.pool.query("ALTER TABLE analysis.lease ADD CONSTRAINT poison CHECK (shard <> 1)")
      let backend = try Backend()
      let worker = try Running(queue, [.throat: backend])
      try await queue.wait(for: "the other shards' results") { try await queue.results == 20 }
      try await queue.wait(for: "failures") { worker.count("database_errors") >= 8 }
      let failures = worker.count("database_errors")
      let said = worker.log.lines.filter { $0.contains("poison") }
      #expect(said.count <= 1 + Int.bitWidth - failures.leadingZeroBitCount, "\(said)")
      _ = try await queue.pool.query("ALTER TABLE analysis.lease DROP CONSTRAINT poison")
      try await queue.wait(for: "every result") { try await queue.results == 30 }
      worker.stop()
      #expect(try await worker.summary().completed == 30)
      #expect(backend.calls.count == 30)
      try await queue.expectSound()
    }
  }

  /// Lends a worker's role that lacks a right.
  private func withRole(
    in queue: Queue, without right: String,
    _ body: (ConnectionConfiguration, String) async throws -> Void
  ) async throws {
    let role = "partial_\(queue.database.name)"
    _ = try await queue.pool.query("CREATE ROLE \(role) LOGIN")
    _ = try await queue.pool.query("SELECT analysis.allow('\(role)', 'worker')")
    _ = try await queue.pool.query("REVOKE \(right) FROM \(role)")
    var database = queue.database.configuration
    database.keywords["user"] = role
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(database, role)) } catch { outcome = .failure(error) }
    _ = try await queue.pool.query("DROP OWNED BY \(role)")
    _ = try await queue.pool.query("DROP ROLE \(role)")
    try outcome.get()
  }
}
