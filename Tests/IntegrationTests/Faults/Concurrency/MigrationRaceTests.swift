import EventLoop
import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("Migrations beside others")
struct MigrationRaceTests {
  @Test("Six at once, from nothing: all succeed, without a word, and the schema is whole")
  func manyAtOnce() async throws {
    try await withTestDatabase { database in
      let programs = try (0..<6).map { _ in
        try Executable("analysisctl", ["migrate"], environment: ["ANALYSIS_DATABASE": database.conninfo])
      }
      for program in programs {
        let ended = await program.ended()
        #expect(ended.code == 0, "\(ended.messages)")
        #expect(ended.messages == "")
      }
      let loop = try EventLoop()
      let pool = ConnectionPool(database.configuration, on: loop, size: 1)
      #expect(try await Migrator(pool).status().isCurrent)
      await pool.close()
      loop.shutdown()
    }
  }

  /// This program's migrations and some that only later versions have.
  private func later(_ count: Int) -> MigrationSource {
    let known = MigrationSource.embedded
    let texts = [
      "ALTER TABLE analysis.result ADD COLUMN later_one text; CREATE TABLE analysis.later (a int);",
      "ALTER TABLE analysis.job ADD COLUMN later_two int NOT NULL DEFAULT 7;",
    ]
    return MigrationSource(
      migrations: known.migrations
        + (0..<count).map { number in
          MigrationSource.Migration(
            number: known.version + 1 + number, name: "later_\(number)", text: texts[number])
        }, functions: known.functions, finally: known.finally)
  }

  @Test(
    "A worker goes on with its jobs while the schema becomes one and two versions newer than it knows; one that is started then refuses cleanly"
  )
  func olderWorker() async throws {
    try await AccountInstallation.with(jobs: 100) { installation in
      let queue = installation.queue
      let gate = Gate()
      let backend = try AccountInstallation.backend { call in
        // The model's own time, so that jobs pass while the schema changes; the last ones wait until it has.
        usleep(20_000)
        if call.number > 90 { gate.wait() }
        return .analysis(call)
      }
      let worker = try installation.start(backend.url, ["--concurrency", "2", "--prefetch", "2"])
      try await eventually { try await queue.results >= 10 }
      // One version newer: the running worker goes on, and another may start.
      _ = try await Migrator(queue.pool, source: later(1)).migrate()
      let before = try await queue.results
      #expect(before < 100, "all was done before the schema changed")
      for _ in 90..<120 { gate.open() }
      try await eventually { try await queue.results > before }
      let another = try installation.start(backend.url)
      try await eventually { another.messagesSoFar.contains("The worker runs") }
      try await eventually { try await queue.results == 100 }
      // Two versions newer: those that run go on, for what they began fits.
      _ = try await Migrator(queue.pool, source: later(2)).migrate()
      let picture = try await drawnPicture()
      _ = try await queue.submit(20, user: AccountInstallation.user, image: picture)
      try await eventually { try await queue.results == 120 }
      _ = await installation.stop(another)
      let ended = await installation.stop(worker)
      #expect(!ended.messages.contains("A call of the database failed"), "\(ended.messages)")
      #expect(try await installation.attempts() == [])
      #expect(backend.calls.count == 120)

      _ = try await queue.submit(5, user: AccountInstallation.user, image: picture)
      let refused = try await installation.drain(backend.url)
      #expect(refused.code == 69, "\(refused.messages)")
      #expect(refused.messages.contains("Upgrade this program"), "\(refused.messages)")
      #expect(backend.calls.count == 120)
      #expect(try await installation.unharmed == 5)
    }
  }

  @Test("A worker goes on with its jobs while the schema comes to the role that owns it from then on")
  func ownership() async throws {
    let picture = try await drawnPicture()
    try await withTestDatabase { database in
      try await withQueue(in: database) { queue in
        _ = try await Migrator(queue.pool).migrate()
        // As a dump is restored without owners: everything belongs to whoever restored it, partitions too.
        try await queue.pool.execute(script: "REASSIGN OWNED BY analysis_owner TO current_user")
        try await queue.addUser("clinic-1")
        let jobs = try await queue.submit(150, user: "clinic-1", image: picture)
        let gate = Gate()
        let backend = try Backend { call in
          // As above.
          usleep(20_000)
          if call.number > 140 { gate.wait() }
          return .analysis(call)
        }
        let workers = try (0..<2).map { _ in
          try Executable(
            "analysis-worker", ["--endpoint", backend.url, "--concurrency", "2", "--prefetch", "2"],
            environment: queue.environment)
        }
        let results = "SELECT count(*)::int FROM analysis.result"
        try await eventually { try await queue.number(results) >= 10 }
        _ = try await Migrator(queue.pool).migrate()
        let done = try await queue.number(results)
        #expect(done < jobs.count, "all was done before the schema changed")
        for _ in 140..<jobs.count { gate.open() }
        try await eventually { try await queue.number(results) == jobs.count }
        for worker in workers {
          worker.send(SIGTERM)
          let ended = await worker.ended()
          #expect(ended.code == 0, "\(ended.messages)")
        }
        #expect(try await queue.number("SELECT count(*)::int FROM analysis.attempt_error") == 0)
        #expect(backend.calls.count == jobs.count)
        try await queue.expectSound()
      }
    }
  }

  @Test("An older program refuses to migrate a newer schema, and changes nothing")
  func olderMigrator() async throws {
    try await withQueue { queue in
      _ = try await Migrator(queue.pool, source: later(1)).migrate()
      let ended = await (try Executable("analysisctl", ["migrate"], environment: queue.environment))
        .ended()
      #expect(ended.code != 0)
      #expect(ended.messages.contains("Upgrade this program"), "\(ended.messages)")
      #expect(try await Migrator(queue.pool, source: later(1)).status().isCurrent)
    }
  }

  @Test("Functions are replaced again and again while workers claim and store: no job notices")
  func functions() async throws {
    try await AccountInstallation.with(jobs: 150) { installation in
      let known = MigrationSource.embedded
      let gate = Gate()
      let backend = try AccountInstallation.backend { call in
        // The model's own time, so that functions are replaced while jobs are in flight; the last ones wait until
        // they were replaced a few times.
        usleep(5_000)
        if call.number > 100 { gate.wait() }
        return .analysis(call)
      }
      let workers = try (0..<2).map { _ in
        try installation.start(backend.url, ["--concurrency", "4", "--prefetch", "4"])
      }
      try await eventually { try await installation.queue.results > 0 }
      var rounds = 0
      while try await installation.queue.results < 150 {
        rounds += 1
        let changed = known.functions.map {
          MigrationSource.FunctionGroup(name: $0.name, text: $0.text + "\n-- round \(rounds)\n")
        }
        let source = MigrationSource(
          migrations: known.migrations, functions: changed, finally: known.finally)
        let done = try await Migrator(installation.queue.pool, source: source).migrate()
        #expect(done.count == known.functions.count)
        if rounds == 3 { for _ in 100..<150 { gate.open() } }
      }
      #expect(rounds >= 3)
      for worker in workers { _ = await installation.stop(worker) }
      #expect(try await installation.attempts() == [])
      #expect(backend.calls.count == 150)
    }
  }
}
