import EventLoop
import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("The server ends statements in favour of others")
struct ConflictTests {
  @Test(
    "A statement that waits too long for a lock, or takes too long, is made again when the way is free",
    arguments: [("lock_timeout", "lock timeout"), ("statement_timeout", "statement timeout")])
  func timeouts(setting: String, words: String) async throws {
    try await FaultyCluster.with(jobs: 80) { faulty in
      _ = try await faulty.queue.pool.query("ALTER DATABASE postgres SET \(setting) = '300ms'")
      let worker = try faulty.installation.worker()
      try await eventually { try await faulty.queue.results >= 8 }
      // A competing transaction keeps all others from leases and results.
      try await blocking("LOCK TABLE analysis.lease, analysis.result IN ACCESS EXCLUSIVE MODE", faulty) {
        try await eventually { faulty.cluster.log.components(separatedBy: words).count > 4 }
        #expect(!worker.hasEnded)
      }
      try await faulty.eachHasResult()
      await faulty.installation.stop(worker)
      try await faulty.expectUnharmed()
    }
  }

  @Test("A submit that the server ends for a lock or its time is made again a few times, then exits 75")
  func submitTimeouts() async throws {
    try await FaultyCluster.with(jobs: 0) { faulty in
      _ = try await faulty.queue.pool.query("ALTER DATABASE postgres SET lock_timeout = '100ms'")
      try await blocking("LOCK TABLE analysis.usage IN ACCESS EXCLUSIVE MODE", faulty) {
        let submit = try await faulty.installation.control(try await faulty.installation.submission())
        #expect(submit.code == 75, "\(submit.messages)")
        #expect(submit.messages.contains("busy with the same rows"), "\(submit.messages)")
        #expect(submit.messages.contains("--key run-1"), "\(submit.messages)")
      }
      let again = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(again.code == 0, "\(again.messages)")
      try await faulty.installation.drain()
      try await faulty.expectUnharmed(also: again.jobs)
    }
  }

  @Test("The worker as the victim of a deadlock stores its results all the same")
  func deadlock() async throws {
    try await FaultyCluster.with(jobs: 80) { faulty in
      let worker = try faulty.installation.worker()
      try await eventually { try await faulty.queue.results >= 8 }
      try await faulty.queue.pool.transaction { transaction in
        // The other one never looks for a deadlock itself: the worker is the one that finds it.
        _ = try await transaction.query("SET LOCAL deadlock_timeout = '1h'")
        _ = try await transaction.query("LOCK TABLE analysis.result IN SHARE MODE")
        // The worker holds a lease's row and waits to insert its results.
        try await eventually {
          try await faulty.queue.number(
            "SELECT count(*)::int FROM pg_locks WHERE NOT granted AND relation = 'analysis.result'::regclass")
            > 0
        }
        _ = try await transaction.query("SELECT FROM analysis.lease FOR UPDATE", deadline: patience)
      }
      #expect(faulty.cluster.log.contains("deadlock detected"))
      try await faulty.eachHasResult()
      await faulty.installation.stop(worker)
      try await faulty.expectUnharmed()
    }
  }

  @Test("With every transaction serializable by default, all comes out right")
  func serializable() async throws {
    try await FaultyCluster.with(jobs: 150, endpoint: ["--delay", "2ms"]) { faulty in
      _ = try await faulty.queue.pool.query(
        "ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
      let workers = try (0..<2).map { _ in try faulty.installation.worker() }
      let submits = try await withThrowingTaskGroup(of: Executable.Ended.self) { group in
        for number in 0..<4 {
          group.addTask {
            try await faulty.installation.control(
              try await faulty.installation.submission(key: "run-\(number)"))
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for submit in submits { #expect([0, 75].contains(submit.code), "\(submit.messages)") }
      // So many refusals may be more than a submit's patience; the same command completes it.
      var jobs: Set<JobID> = []
      for number in 0..<4 {
        var again: Executable.Ended
        repeat {
          again = try await faulty.installation.control(
            try await faulty.installation.submission(key: "run-\(number)"))
        } while again.code == 75
        #expect(again.code == 0, "\(again.messages)")
        jobs.formUnion(again.jobs)
      }
      let all = faulty.installation.jobs.count + jobs.count
      try await faulty.eventuallyThere { try await faulty.queue.results == all }
      // The programs take the isolation that they need.
      #expect(!faulty.cluster.log.contains("could not serialize access"))
      for worker in workers { await faulty.installation.stop(worker) }
      try await faulty.expectUnharmed(also: Array(jobs))
    }
  }

  @Test("A back-end that dozes off in its transaction loses its submit whole, and holds nobody up for longer")
  func idleInTransaction() async throws {
    try await FaultyCluster.with(jobs: 20) { faulty in
      _ = try await faulty.queue.pool.query(
        "ALTER DATABASE postgres SET idle_in_transaction_session_timeout = '5s'")
      let dozing = try await Connection.connect(
        ConnectionConfiguration(faulty.cluster.conninfo()), on: faulty.queue.loop)
      _ = try await dozing.query("BEGIN")
      let taken = try await dozing.query(
        "SELECT outcome FROM analysis.submit_image('\(faulty.installation.user)', 'throat', E'\\\\xffd8ff')"
      ).single().string(0)
      #expect(taken == "created")
      // It holds the user's row: this one waits until the server has cut it.
      let submit = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(submit.code == 0, "\(submit.messages)")
      let error = await #expect(throws: PostgreSQLError.self) { _ = try await dozing.query("COMMIT") }
      #expect(error?.sqlState == "25P03")
      await dozing.close()
      #expect(faulty.cluster.log.contains("idle-in-transaction timeout"))
      try await faulty.installation.drain()
      try await faulty.expectUnharmed(also: submit.jobs)
    }
  }

  /// Holds locks in a transaction of its own while something happens.
  private func blocking(
    _ statement: String, _ faulty: FaultyCluster, _ body: () async throws -> Void
  ) async throws {
    let other = try await Connection.connect(
      ConnectionConfiguration(faulty.cluster.conninfo()), on: faulty.queue.loop)
    _ = try await other.query("SET lock_timeout = 0")
    _ = try await other.query("SET statement_timeout = 0")
    _ = try await other.query("BEGIN")
    _ = try await other.query(SQLStatement(statement), deadline: patience)
    do {
      try await body()
    } catch {
      await other.close()
      throw error
    }
    _ = try await other.query("COMMIT")
    await other.close()
  }
}
