import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite(
  "When a standby takes over",
  .enabled(if: ServerCluster.canReplicate, "this server came without pg_basebackup"))
struct FailoverTests {
  @Test("workers carry on within 5 s, without a restart, and every job ends once")
  func workers() async throws {
    try await FailoverCluster.with(jobs: 120, isSynchronous: true) { failover in
      let installation = failover.installation
      let workers = try (0..<2).map { _ in try installation.worker() }
      try await eventually { try await installation.queue.results >= 30 }
      try await failover.failOver()
      // The promise, by the new primary's clock: it has taken writes for a moment by now.
      let promoted = try await failover.onStandby("SELECT clock_timestamp()::text")
      // By the first sign of life that each gave to the new primary; the next one follows five seconds later.
      var first: [Int64: Double] = [:]
      try await eventually {
        let seen = try await installation.queue.pool.query(
          """
          SELECT w.id, extract(epoch FROM w.heartbeat_at - '\(promoted)'::timestamptz)::float8
          FROM analysis.worker w WHERE w.heartbeat_at > pg_last_xact_replay_timestamp()
          """)
        for row in seen {
          first[try row.int64(0)] = min(first[try row.int64(0)] ?? .infinity, try row.double(1))
        }
        return first.count == 2
      }
      #expect(first.values.allSatisfy { $0 <= 5 }, "\(first)")
      try await eventually { try await installation.queue.results == installation.jobs.count }
      for worker in workers { await installation.stop(worker) }
      try await installation.expectEachEnded()
      try await installation.expectNoAttemptConsumed()
    }
  }

  @Test("that is synchronous, no acknowledged job is lost; a repeat under the same key makes no second one")
  func acknowledged() async throws {
    let picture = try await drawnPicture()
    try await FailoverCluster.with(isSynchronous: true) { failover in
      let installation = failover.installation
      let worker = try installation.worker()
      let submits = KeyedSubmits(installation.queue.pool, picture)
      async let submitting: Void = submits.run(tasks: 6)
      try await eventually { submits.acknowledged.count >= 100 }
      try await failover.failOver()
      let before = submits.acknowledged.count
      try await eventually { submits.acknowledged.count >= before + 50 }
      submits.stop()
      await submitting

      let told = submits.acknowledged
      var jobs: Set<JobID> = []
      for key in submits.tried.sorted() {
        let job = try #require(try await submits.submit(key))
        if let first = told[key] { #expect(job == first, "\(key)") }
        jobs.insert(job)
      }
      // Each key has one job, and there are no others.
      #expect(jobs.count == submits.tried.count)
      #expect(try await installation.queue.number("SELECT count(*)::int FROM analysis.job") == jobs.count)
      try await eventually { try await installation.queue.results == jobs.count }
      await installation.stop(worker)
      try await installation.expectEachEnded(also: jobs.sorted())
      try await installation.expectNoAttemptConsumed()
    }
  }

  @Test("a submit that waits for its jobs waits on, and tells how they ended")
  func waiting() async throws {
    try await FailoverCluster.with(isSynchronous: true) { failover in
      let installation = failover.installation
      let pictures = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
      let submit = try Executable(
        "analysisctl",
        ["submit", "--user", FailoverCluster.user, "--type", "throat", "--wait", "--json", pictures],
        environment: installation.queue.environment)
      try await eventually {
        try await installation.queue.number("SELECT count(*)::int FROM analysis.job") == 1
      }
      try await failover.failOver()
      let worker = try installation.worker()
      let ended = await submit.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(ended.output.contains("\"state\":\"succeeded\""), "\(ended.output)")
      await installation.stop(worker)
      #expect(try await installation.queue.results == 1)
      try await installation.queue.expectSound()
    }
  }

  @Test("a submit that begins between the primary's death and the promotion waits, and is accepted once")
  func submitBetween() async throws {
    try await FailoverCluster.with(isSynchronous: true) { failover in
      let installation = failover.installation
      let picture = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
      try await failover.primary.kill()
      let submit = try Executable(
        "analysisctl",
        [
          "submit", "--user", FailoverCluster.user, "--type", "throat", "--connect-timeout", "5m", "--json",
          picture,
        ],
        environment: installation.queue.environment)
      // The one server is dead, the other only reads: it is neither refused nor sent to the standby.
      try await eventually { submit.messagesSoFar.contains("Waiting for the database") || submit.hasEnded }
      try await failover.standby.promote()
      let ended = await submit.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(ended.jobs.count == 1)
      #expect(try await failover.onStandby("SELECT count(*)::text FROM analysis.job") == "1")
    }
  }

  @Test("by order, workers leave the old primary as soon as it is read-only, and none of their work is lost")
  func switchover() async throws {
    try await FailoverCluster.with(jobs: 120, isSynchronous: true) { failover in
      let installation = failover.installation
      let workers = try (0..<2).map { _ in try installation.worker() }
      try await eventually { try await installation.queue.results >= 30 }
      // It goes on to run: the workers' connections to it stay up.
      try await failover.primary.set(["default_transaction_read_only": "on"])
      try await eventually { workers.allSatisfy { $0.messagesSoFar.contains("takes no changes") } }
      try await failover.caughtUp()
      try await failover.standby.promote()
      try await eventually {
        try await failover.onStandby("SELECT count(*)::text FROM analysis.result")
          == "\(installation.jobs.count)"
      }
      for worker in workers { await installation.stop(worker) }
      // The test's own connections have read from it so far.
      try await failover.primary.stop(.fast)
      try await installation.expectEachEnded()
      try await installation.expectNoAttemptConsumed()
    }
  }

  @Test("the old primary that comes back read-only is not written to, though it is named first")
  func oldPrimary() async throws {
    try await FailoverCluster.with(jobs: 10, isSynchronous: true) { failover in
      let installation = failover.installation
      try await failover.failOver()
      try await failover.primary.set(["default_transaction_read_only": "on"])
      try await failover.primary.start()
      let count =
        "SELECT (SELECT count(*) FROM analysis.job) || ' ' || (SELECT count(*) FROM analysis.result)"
      let later = try await installation.submitFurther(10)
      try await installation.drain()
      #expect(try await failover.onPrimary(count) == "10 0")
      #expect(try await failover.onStandby(count) == "20 20")
      try await installation.expectEachEnded(also: later)
      try await installation.expectNoAttemptConsumed()
    }
  }

  @Test("a primary that is frozen, not dead, holds nobody up")
  func frozen() async throws {
    try await FailoverCluster.with(jobs: 10, isSynchronous: false) { failover in
      let installation = failover.installation
      try await failover.caughtUp()
      try failover.primary.signal(#require(failover.primary.postmaster), SIGSTOP)
      try await failover.standby.promote()
      // It is named first, and takes connections without ever answering.
      try await installation.drain()
      #expect(try await failover.onStandby("SELECT count(*)::text FROM analysis.result") == "10")
      // What it had begun before is still served; the test's own connections are.
      try await failover.primary.kill()
      try await installation.expectEachEnded()
    }
  }
}
