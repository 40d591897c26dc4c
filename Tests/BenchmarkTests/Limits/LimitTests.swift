import BenchmarkKit
import EventLoop
import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import BenchmarkRows
@testable import Queue
@testable import Support

@Suite("What a job costs, however fast or busy the machine is")
struct LimitTests {
  @Test("of the database stays within the committed limits")
  func database() async throws {
    let limits = try CommittedLimits()
    try await LimitCluster.with(pictureBytes: 64) { run in
      // The first calls make pages and plans, which the jobs after them use too.
      try await run.submit(1000, "first")
      try await run.drain()
      let jobs = 2000.0
      let submitted = try await run.account { try await run.submit(Int(jobs), "later") }
      let drained = try await run.account { try await run.drain() }
      // Marks and a heartbeat go once a second. Where a drain takes so long it is looked at again, and the least counts.
      var transactions = drained.transactions
      for round in 1...5 where !limits.allow(transactions / jobs, "drain-transactions") {
        try await run.submit(Int(jobs), "again-\(round)")
        transactions = min(transactions, try await run.account { try await run.drain() }.transactions)
      }
      // A checkpoint in between logs whole pages: then it is looked at again.
      var single = try await run.account { try await run.submit(Int(jobs), "single", perCall: 1) }
      for round in 1...5 where !limits.allow(single.logBytes / jobs, "submit-one-log-bytes") {
        single = try await run.account { try await run.submit(Int(jobs), "single-\(round)", perCall: 1) }
      }

      try limits.expect(submitted.logBytes / jobs, "submit-log-bytes")
      try limits.expect(single.logBytes / jobs, "submit-one-log-bytes")
      try limits.expect((single.inserted + single.updated) / jobs, "submit-one-rows")
      try limits.expect(drained.logBytes / jobs, "drain-log-bytes")
      try limits.expect(transactions / jobs, "drain-transactions")
      try limits.expect((submitted.inserted + drained.inserted) / jobs, "rows-inserted")
      try limits.expect((submitted.updated + drained.updated) / jobs, "rows-updated")
      try limits.expect((submitted.deleted + drained.deleted) / jobs, "rows-deleted")
    }
  }

  @Test(
    "of a worker's memory stays within the committed limit",
    .enabled(if: AllocationCount.isAvailable, "needs heaptrack, and no sanitizer"))
  func allocations() async throws {
    try await expectOfWorker("worker-allocations", AllocationCount.of)
  }

  @Test(
    "of a worker's calls of the kernel stays within the committed limit",
    .enabled(if: SystemCallCount.isAvailable, "needs strace, and no sanitizer"))
  func systemCalls() async throws {
    try await expectOfWorker("worker-system-calls", SystemCallCount.of)
  }

  /// Expects what a worker does for a job to be within a limit: the difference between many jobs and few, whatever a
  /// worker needs to start and to end. What is above the limit is looked at again, and the least counts: some runs on a
  /// busy machine took more.
  private func expectOfWorker(
    _ name: String, _ count: (_ program: String, _ arguments: [String]) async throws -> Int
  ) async throws {
    let limits = try CommittedLimits()
    try await LimitCluster.with(pictureBytes: 20_000) { run in
      let endpoint = try await EndpointProcess(BenchmarkSettings())
      var least = [Int.max, Int.max]
      var cost: Double { Double(least[1] - least[0]) / 800 }
      for round in 1...6 where round == 1 || !limits.allow(cost, name) {
        for (place, jobs) in [200, 1000].enumerated() {
          try await run.submit(jobs, "\(round)-\(jobs)")
          least[place] = min(
            least[place],
            try await count(
              try BenchmarkSettings().program("analysis-worker"),
              ["--drain", "--database", run.database.conninfo, "--endpoint", endpoint.url]))
        }
      }
      await endpoint.stop()
      try limits.expect(cost, name)
    }
  }

  @Test("has a test for each committed limit, and each has its name once")
  func whole() throws {
    let names = try CommittedLimits().names
    #expect(Set(names).count == names.count)
    #expect(
      Set(names) == [
        "submit-log-bytes", "submit-one-log-bytes", "submit-one-rows", "drain-log-bytes",
        "drain-transactions", "rows-inserted", "rows-updated",
        "rows-deleted", "worker-allocations", "worker-system-calls",
      ])
  }
}

extension LimitCluster {
  /// Submits so many jobs with keys, so many a call, on images that are stored.
  func submit(_ jobs: Int, _ key: String, perCall: Int = 1000) async throws {
    let loop = try EventLoop()
    defer { loop.shutdown() }
    let pool = ConnectionPool(ConnectionConfiguration(database.conninfo), on: loop, size: 1)
    let pictures = try await QueueFixture.pictures(in: pool)
    let submissions = (0..<jobs).map { number in
      let picture = pictures[number % pictures.count]
      return Submission(
        user: picture.user, kind: number.isMultiple(of: 2) ? .throat : .ear,
        image: .known(sha256: picture.sha256), key: "\(key)-\(number)")
    }
    let outcomes = try await Submitter(pool, limits: SubmitLimits(maximumCount: perCall)).submit(submissions)
    for outcome in outcomes {
      guard case .created = outcome else { throw BenchmarkError("A submit gave \(outcome).") }
    }
    await pool.close()
  }

  /// Claims and completes all that waits, 100 a batch, with whole analyses.
  func drain() async throws {
    let loop = try EventLoop()
    defer { loop.shutdown() }
    let drain = try await QueueDrain.connected(
      to: database.conninfo, on: loop, batch: 100, analyses: SampleAnalyses(isWhole: true))
    _ = try await drain.run()
    for connection in drain.connections { await connection.close() }
  }
}
