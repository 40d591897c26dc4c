import EventLoop
import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@Suite(
  "Through a pooler in transaction mode",
  .enabled(if: Pooler.isAvailable, "PgBouncer is not installed (package pgbouncer)"),
  .enabled(if: TestServer.isPrivate))
struct PoolerTests {
  @Test("every command and several workers do the whole job, from the schema to the closed month")
  func wholeJob() async throws {
    try await withTestDatabase { database in
      try await withPooler(before: database.name, settings: ["default_pool_size": "4"]) { pooler in
        try await RunningEndpoint.with { endpoint in
          let environment = ["ANALYSIS_DATABASE": pooler.conninfo(database: database.name)]
          func run(_ words: String...) async throws -> Executable.Ended {
            try await Executable("analysisctl", words, environment: environment).ended()
          }
          func expect(
            _ words: String..., code: Int32 = 0, _ location: SourceLocation = #_sourceLocation
          ) async throws {
            let ended = try await Executable("analysisctl", words, environment: environment).ended()
            #expect(ended.code == code, "\(words): \(ended.messages)", sourceLocation: location)
          }
          // Two at once, as of two machines that are installed together: they wait for each other.
          async let first = run("migrate")
          async let second = run("migrate")
          #expect(try await first.code == 0)
          #expect(try await second.code == 0)
          try await expect("plans", "list")
          try await expect("users", "add", "clinic-1", "--plan", "premium")
          try await expect("users", "list")

          let workers = try (0..<3).map { index in
            try Executable(
              "analysis-worker",
              ["--endpoint", endpoint.url, "--concurrency", "4"] + (index == 0 ? ["--no-listen"] : []),
              environment: environment)
          }
          let pictures = try await drawnPictures.folder().path
          let submitted = try await run(
            "submit", "--user", "clinic-1", "--type", "throat", "--wait", "--json", pictures)
          #expect(submitted.code == 4, "the bad files are refused by name: \(submitted.messages)")
          try await expect("jobs", "list", "--user", "clinic-1")
          try await expect("status")
          for kind in ["usage", "analyses", "conditions", "summary"] {
            for format in ["table", "csv", "json"] {
              try await expect("report", kind, "--format", format)
            }
          }
          // A month that is long over is closed, and comes out the same again.
          try await withQueue(in: database) { queue in
            _ = try await queue.pool.query(
              "INSERT INTO analysis.usage (shard, user_id, period) SELECT shard, user_id, 24288 FROM analysis.account"
            )
          }
          try await expect("month", "close", "2024-01", "--yes")
          let past = try await run("report", "usage", "--month", "2024-01", "--format", "csv")
          #expect(past.code == 0, "\(past.messages)")
          let again = try await run("report", "usage", "--month", "2024-01", "--format", "csv")
          #expect(again.output == past.output && !past.output.isEmpty)
          try await expect("reconcile")

          for worker in workers {
            worker.send(SIGTERM)
            let ended = await worker.ended()
            #expect(ended.code == 0, "\(ended.messages)")
            #expect(!ended.messages.contains("A call of the database failed"), "\(ended.messages)")
          }
          try await withQueue(in: database) { queue in
            #expect(
              try await queue.number("SELECT count(*)::int FROM analysis.result WHERE outcome = 1")
                == 6)
            #expect(try await queue.number("SELECT sum(used)::int FROM analysis.usage") == 6)
            #expect(
              try await queue.number(
                "SELECT count(*)::int FROM analysis.statement WHERE report = 'usage'") == 1)
            try await queue.expectSound()
          }
        }
      }
    }
  }

  @Test("a statement that is repeated is never kept there, where the next call may meet another session")
  func repeatedStatements() async throws {
    try await withTestDatabase { database in
      try await withPooler(before: database.name, settings: ["default_pool_size": "2"]) { pooler in
        let loop = try EventLoop()
        let pool = ConnectionPool(
          ConnectionConfiguration(pooler.conninfo(database: database.name)), on: loop, size: 4)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<4 {
            group.addTask {
              for number in 1...50 as ClosedRange<Int32> {
                let double = SQLStatement("SELECT $1 * 2", [.int32(number)], isRepeated: true)
                let answer = try await pool.query(double).single().int(0)
                #expect(answer == Int(number) * 2)
              }
            }
          }
          try await group.waitForAll()
        }
        let kept = try await pool.query("SELECT count(*) FROM pg_prepared_statements").single().int(0)
        #expect(kept == 0)
        await pool.close()
      }
    }
  }

  @Test("a worker that would listen says that it cannot, and takes new jobs by looking for them")
  func listening() async throws {
    try await Installation.pooled(jobs: 0) { installation, _ in
      let worker = try installation.worker()
      try await eventually { worker.messagesSoFar.contains("not heard through a pooler") }
      let later = try await installation.submitFurther(5)
      try await eventually { try await installation.queue.results == 5 }
      worker.send(SIGTERM)
      let ended = await worker.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(ended.messages.components(separatedBy: "not heard through a pooler").count == 2)
      try await installation.expectEachEnded(also: later)
      try await installation.expectNoAttemptConsumed()
    }
  }

  @Test("a pooler that is killed and started again while jobs pass loses none and consumes no attempt")
  func killed() async throws {
    try await Installation.pooled(jobs: 150) { installation, pooler in
      let workers = try (0..<2).map { _ in try installation.worker(["--no-listen"]) }
      for goal in [20, 60, 100] {
        try await eventually { try await installation.queue.results >= goal }
        await pooler.kill()
        try await pooler.start()
      }
      try await eventually { try await installation.queue.results == 150 }
      for worker in workers {
        worker.send(SIGTERM)
        #expect(await worker.ended().code == 0)
      }
      try await installation.expectEachEnded()
      try await installation.expectNoAttemptConsumed()
    }
  }

  @Test("a worker carries on when the pooler sends it away for want of a connection to the server")
  func queueFull() async throws {
    let settings = ["default_pool_size": "1", "query_wait_timeout": "1"]
    try await Installation.pooled(jobs: 40, settings: settings) { installation, pooler in
      let worker = try installation.worker(["--no-listen"])
      try await eventually { try await installation.queue.results >= 5 }
      try await Self.holdingTheConnection(of: pooler, installation) {
        try await eventually { worker.messagesSoFar.contains("query_wait_timeout") }
        // Also one that starts just now waits for it.
        let later = try installation.worker(["--no-listen"])
        try await eventually { later.messagesSoFar.contains("trying again") }
        later.send(SIGTERM)
        #expect(await later.ended().code == 0)
      }
      try await eventually { try await installation.queue.results == 40 }
      worker.send(SIGTERM)
      #expect(await worker.ended().code == 0)
      try await installation.expectEachEnded()
      try await installation.expectNoAttemptConsumed()
    }
  }

  @Test("a worker waits for a pooler that takes no more clients, and goes on when it takes some again")
  func tooManyClients() async throws {
    try await Installation.pooled(jobs: 20, settings: ["max_client_conn": "8"]) { installation, _ in
      let loop = try EventLoop()
      var others: [Connection] = []
      for _ in 0..<8 { others.append(try await installation.queue.database.connect(on: loop)) }
      let worker = try installation.worker(["--no-listen"])
      try await eventually { worker.messagesSoFar.contains("no more connections allowed") }
      #expect(try await installation.queue.results == 0)
      for other in others { await other.close() }
      try await eventually { try await installation.queue.results == 20 }
      worker.send(SIGTERM)
      #expect(await worker.ended().code == 0)
      try await installation.expectEachEnded()
      try await installation.expectNoAttemptConsumed()
    }
  }

  @Test("a startup option that the pooler refuses is told as a fault of the settings, with 64")
  func options() async throws {
    try await Installation.pooled(jobs: 0) { installation, _ in
      let command = try Executable(
        "analysisctl",
        ["status", "--database", installation.queue.database.conninfo + " options='-c jit=off'"])
      let ended = await command.ended()
      #expect(ended.code == 64)
      #expect(ended.messages.contains("unsupported startup parameter"), "\(ended.messages)")
    }
  }

  /// Keeps the pooler's only connection to the server in a transaction meanwhile.
  private static func holdingTheConnection(
    of pooler: Pooler, _ installation: Installation, _ body: () async throws -> Void
  ) async throws {
    try await withQueue(in: installation.queue.database) { queue in
      try await eventually {
        // The worker may have the queue before it.
        do {
          try await queue.pool.transaction { transaction in
            _ = try await transaction.query("SELECT 1")
            try await body()
          }
          return true
        } catch let error as PostgreSQLError where error.isConnectionLoss {
          return false
        }
      }
    }
  }
}
