import PostgreSQL
import QueueTestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("The recount of usage")
struct ReconciliationTests {
  /// Two users with analysed, open, dead and cancelled jobs and pending refunds.
  private func prepare(_ queue: QueueFixture) async throws {
    try await queue.addUser("basic", plan: "free")
    try await queue.addUser("premium")
    for user in ["basic", "premium"] {
      let jobs = try await queue.submit(4, user: user)
      let claimed = try await queue.claimJobs(lease: user == "basic" ? 1 : 9, count: 2)
      _ = try await queue.statements.complete([try queue.completed(claimed[0])]).run(on: queue.pool)
      let failed = FailedAttempt(
        lease: claimed[1].lease, job: claimed[1].id, decision: .dead, failureClass: .permanent,
        message: "Refused.")
      _ = try await queue.statements.fail([failed]).run(on: queue.pool)
      _ = try await JobDirectory(queue.pool).change([jobs[3]], .cancel)
      // One user's refunds are pending, the other's are applied.
      if user == "basic" { _ = try await queue.statements.applyRefunds().run(on: queue.pool) }
    }
  }

  @Test("finds no difference where there is none")
  func clean() async throws {
    try await withQueue { queue async throws in
      try await prepare(queue)
      #expect(try await Reconciliation.run(queue.pool).isEmpty)
    }
  }

  @Test("finds a unit too many and a unit too few", arguments: [1, -1])
  func planted(units: Int) async throws {
    try await withQueue { queue async throws in
      try await prepare(queue)
      _ = try await queue.pool.query(
        """
        UPDATE analysis.usage u SET used = used + $1
          FROM analysis.account a WHERE a.user_id = u.user_id AND a.user_ref = 'premium'
        """, [.int32(Int32(units))])
      let differences = try await Reconciliation.run(queue.pool)
      let difference = try #require(differences.first)
      #expect(differences.count == 1)
      #expect(difference.user == "premium")
      #expect(difference.difference == units)
      #expect((difference.pendingRefunds, difference.analysed, difference.open) == (2, 1, 1))
      #expect(try await Reconciliation.run(queue.pool, month: difference.period) == differences)
      #expect(try await Reconciliation.run(queue.pool, month: Period("2001-01")).isEmpty)
    }
  }

  @Test("finds a user whose counter is missing")
  func missing() async throws {
    try await withQueue { queue async throws in
      try await prepare(queue)
      _ = try await queue.pool.query("DELETE FROM analysis.usage WHERE used = 2")
      let differences = try await Reconciliation.run(queue.pool)
      #expect(differences.map(\.user) == ["basic"])
      #expect(differences.map(\.difference) == [-2])
    }
  }

  @Test("names jobs that are in no table of the queue, and no others")
  func lost() async throws {
    try await withQueue { queue async throws in
      try await prepare(queue)
      let now = Double(try await queue.number("SELECT extract(epoch FROM now())::int"))
      let later = try await queue.submit([
        queue.submission("basic", 1, kind: .ear), queue.submission("premium", 2, kind: .ear, runAt: now + 5),
        queue.submission("premium", 3, kind: .ear),
      ]).compactMap(\.job)
      _ = try await queue.claimJobs(lease: 5000, count: 1)
      #expect(try await Reconciliation.lostJobs(queue.pool).count == 0)
      _ = try await queue.pool.query("DELETE FROM analysis.ready WHERE job_id = $1", [.int64(later[0].value)])
      _ = try await queue.pool.query("DELETE FROM analysis.scheduled")
      let leased = JobID(
        try await queue.pool.query("DELETE FROM analysis.lease RETURNING job_ids[1]").single().int64(0))
      let lost = try await Reconciliation.lostJobs(queue.pool)
      #expect(lost.count == 3)
      #expect(lost.first.map(\.id) == [leased, later[0], later[1]].sorted())
      #expect(lost.first.first { $0.id == later[0] }?.user == "basic")
      // A lost job holds its unit: the counters say nothing of it.
      #expect(try await Reconciliation.run(queue.pool).isEmpty)
      let month = try #require(lost.first.first?.period)
      let one = try await Reconciliation.lostJobs(queue.pool, month: month, limit: 1)
      #expect((one.count, one.first) == (3, Array(lost.first.prefix(1))))
      #expect(try await Reconciliation.lostJobs(queue.pool, month: Period("2001-01")).count == 0)
      _ = try await JobDirectory(queue.pool).change(lost.first.map(\.id), .cancel)
      #expect(try await Reconciliation.lostJobs(queue.pool).count == 0)
      #expect(try await Reconciliation.run(queue.pool).isEmpty)
    }
  }
}
