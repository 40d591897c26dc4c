import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support
@testable import Worker

@Suite("A cancellation in a transaction that stays open")
struct OpenTransactionTests {
  /// Cancels running jobs in a transaction, and ends it when the body has returned.
  private func withOpenCancel(
    of jobs: [Int], in queue: QueueFixture, end: String, _ body: () async throws -> Void
  ) async throws {
    try await queue.pool.withConnection { open in
      try await open.execute(script: "BEGIN")
      let outcomes = try await open.query(
        "SELECT o_outcome FROM analysis.cancel(0::smallint, $1)", [.array(jobs.map(Int64.init))]
      ).map { try $0.string(0) }
      #expect(outcomes == jobs.map { _ in "cancelled" })
      try await body()
      try await open.execute(script: end)
    }
  }

  @Test(
    "holds up no other job of two workers, and its own jobs end exactly once when it ends",
    arguments: ["COMMIT", "ROLLBACK"])
  func othersGoOn(end: String) async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(60)
      let gate = Gate()
      // The first six calls are in flight while their jobs are cancelled; half of them bring a result, half fail.
      let backend = try Backend { call in
        guard call.number <= 6 else { return .analysis(call) }
        gate.wait()
        return call.number.isMultiple(of: 2) ? .failure(500, "SERVER_ERROR") : .analysis(call)
      }
      let workers = try (0..<2).map { _ in
        try Running(queue, [.throat: backend]) {
          $0.concurrency = 3
          $0.drainHorizon = .seconds(60)
        }
      }
      try await eventually("calls") { backend.calls.count == 6 }
      let held = backend.calls.compactMap(\.job)
      try await withOpenCancel(of: held, in: queue, end: end) {
        for _ in 0..<6 { gate.open() }
        try await eventually("the results of the other jobs") { try await queue.results == 54 }
        #expect(
          try await queue.number("SELECT sum(cardinality(job_ids))::int FROM analysis.lease") == 6,
          "the leases of the cancelled jobs")
      }
      for worker in workers {
        let summary = try await worker.summary()
        #expect(summary.unstored == 0 && summary.dead == 0 && summary.left == [])
        #expect(worker.count("leases_lost") == 0 && worker.count("database_errors") == 0)
      }
      let isTaken = end == "COMMIT"
      #expect(try await queue.results == (isTaken ? 54 : 60))
      // What had an answer is not called for again; what had failed is.
      #expect(backend.calls.count == (isTaken ? 60 : 63))
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.attempt_error") == (isTaken ? 0 : 3))
      try await queue.expectSound()
    }
  }

  @Test("does not keep a worker from stopping: the lease of the job runs out, and it is called for again")
  func stop() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let gate = Gate()
      let backend = try Backend(holding: gate)
      let worker = try Running(queue, [.throat: backend]) { $0.grace = .seconds(2) }
      try await eventually("calls") { backend.calls.count == 3 }
      try await withOpenCancel(of: backend.calls.prefix(1).compactMap(\.job), in: queue, end: "ROLLBACK") {
        for _ in 0..<3 { gate.open() }
        try await eventually("the other results") { try await queue.results == 2 }
        worker.stop()
        #expect(try await worker.summary().unstored == 1)
      }
      _ = try await queue.pool.query("UPDATE analysis.lease SET deadline = '-infinity'")
      let summary = try await Running.drain(queue, try Backend()) { $0.leaseDuration = .seconds(1) }
      #expect(summary.completed == 1)
      #expect(
        try await queue.text(
          "SELECT string_agg(class || calls || maybe_counted, ',') FROM analysis.attempt_error")
          == "worker_lost1true")
      try await queue.expectSound()
    }
  }

  @Test("does not keep a draining worker for longer than its grace, which says what it could not store")
  func drain() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let gate = Gate()
      let backend = try Backend(holding: gate)
      let worker = try Running(queue, [.throat: backend]) {
        $0.grace = .seconds(2)
        $0.drainHorizon = .seconds(60)
      }
      try await eventually("calls") { backend.calls.count == 3 }
      try await withOpenCancel(of: backend.calls.prefix(1).compactMap(\.job), in: queue, end: "COMMIT") {
        for _ in 0..<3 { gate.open() }
        let summary = try await worker.summary()
        #expect(summary.unstored == 1 && summary.completed == 2)
        #expect(summary.left == ["not stored, since another transaction holds the job: 1"])
      }
      _ = try await queue.pool.query("UPDATE analysis.lease SET deadline = '-infinity'")
      #expect(try await Running.drain(queue, backend) { $0.leaseDuration = .seconds(1) }.completed == 0)
      try await queue.expectSound()
    }
  }
}
