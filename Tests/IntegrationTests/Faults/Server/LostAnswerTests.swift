import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("A connection is cut at a statement, before the server saw it or after it was carried out")
struct LostAnswerTests {
  @Test(
    "A submit looks the outcome up by its keys: every picture is one job",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func submit(cut: FaultProxy.Cut) async throws {
    try await FaultyCluster.with(jobs: 0) { faulty in
      faulty.proxy.cut(cut, at: "analysis.submit_in_batch(")
      let submit = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(submit.code == 0, "\(submit.messages)")
      #expect(faulty.proxy.struck == 1)
      // What the lost call had created is told as submitted before.
      #expect(submit.output.contains("duplicate") == (cut == .afterAnswer))
      try await faulty.installation.drain()
      try await faulty.expectUnharmed(also: submit.jobs)
    }
  }

  @Test(
    "A claim that was carried out is looked up by its lease: the jobs are back at once, no loss is counted",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func claim(cut: FaultProxy.Cut) async throws {
    try await FaultyCluster.with(jobs: 60) { faulty in
      faulty.proxy.cut(cut, at: "analysis.claim(", times: 4)
      let worker = try faulty.installation.worker()
      try await faulty.eachHasResult()
      #expect(faulty.proxy.struck == 4)
      await faulty.installation.stop(worker)
      #expect(try await faulty.queue.number("SELECT count(*)::int FROM analysis.attempt_error") == 0)
      #expect(try faulty.installation.calls.values.allSatisfy { $0 == 1 })
      try await faulty.expectUnharmed()
    }
  }

  @Test(
    "A completion is stored once, and the endpoint is not called again",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func complete(cut: FaultProxy.Cut) async throws {
    try await FaultyCluster.with(jobs: 60) { faulty in
      faulty.proxy.cut(cut, at: "analysis.complete(", skipping: 1, times: 3)
      let worker = try faulty.installation.worker()
      try await faulty.eachHasResult()
      #expect(faulty.proxy.struck == 3)
      await faulty.installation.stop(worker)
      #expect(try faulty.installation.calls.values.allSatisfy { $0 == 1 })
      try await faulty.expectUnharmed()
    }
  }

  @Test(
    "A failed attempt is recorded once and consumes one attempt",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func fail(cut: FaultProxy.Cut) async throws {
    // The first try of every job fails.
    try await FaultyCluster.with(jobs: 12, endpoint: ["--fail", "500=1@1"]) { faulty in
      faulty.proxy.cut(cut, at: "analysis.fail(", times: 2)
      let worker = try faulty.installation.worker()
      try await faulty.eachHasResult()
      #expect(faulty.proxy.struck == 2)
      await faulty.installation.stop(worker)
      #expect(
        try await faulty.queue.number(
          "SELECT count(*)::int FROM analysis.attempt_error WHERE consumed") == 12)
      #expect(
        try await faulty.queue.number("SELECT count(*)::int FROM analysis.result WHERE attempt = 2")
          == 12)
      #expect(try faulty.installation.calls.values.allSatisfy { $0 == 2 })
      try await faulty.installation.expectEachEnded()
    }
  }

  @Test(
    "Jobs that a stopping worker releases are back once",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func release(cut: FaultProxy.Cut) async throws {
    // So many that the worker holds some when it is told to stop, however late that is.
    try await FaultyCluster.with(jobs: 400, endpoint: ["--delay", "200ms"]) { faulty in
      faulty.proxy.cut(cut, at: "analysis.release(", times: 1)
      let worker = try faulty.installation.worker()
      try await eventually { try await faulty.queue.results >= 4 }
      await faulty.installation.stop(worker)
      #expect(faulty.proxy.struck == 1)
      #expect(try await faulty.installation.held == 0)
      try await faulty.installation.drain(concurrency: 64)
      try await faulty.expectUnharmed()
    }
  }

  @Test("Every statement of a worker is cut off again and again, on both sides, and each job ends once")
  func everywhere() async throws {
    try await FaultyCluster.with(jobs: 300) { faulty in
      let statements = [
        "claim(", "complete(", "heartbeat(", "promote(", "tick(", "apply_refunds(", "rescue(", "take_turn(",
        "refresh_gauges(", "refresh_counts(", "image WHERE", "sweep(", "disclaim(",
      ]
      for statement in statements {
        faulty.proxy.cut(.afterAnswer, at: "analysis.\(statement)", skipping: 1, times: 2)
        faulty.proxy.cut(.beforeServer, at: "analysis.\(statement)", skipping: 3, times: 2)
      }
      let worker = try faulty.installation.worker()
      try await faulty.eachHasResult()
      #expect(faulty.proxy.struck >= 10)
      await faulty.installation.stop(worker)
      try await faulty.expectUnharmed()
    }
  }

  @Test(
    "A month whose closing lost its answer is closed once, and its statement comes out the same for ever",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func close(cut: FaultProxy.Cut) async throws {
    try await FaultyCluster.with(jobs: 0) { faulty in
      let folder = try TemporaryFolder()
      let file = folder.path("usage.csv")
      // Two months ago is long over.
      let month = try await faulty.queue.text(
        "SELECT to_char(now() - interval '2 months', 'YYYY-MM')")
      _ = try await faulty.queue.pool.query(
        "UPDATE analysis.account SET created_at = now() - interval '1 year'")
      _ = try await faulty.queue.pool.query(
        """
        INSERT INTO analysis.usage (shard, user_id, period)
        SELECT shard, user_id, analysis.period_of(now() - interval '2 months', 'UTC') FROM analysis.account
        """)
      let report = ["report", "usage", "--month", month, "--format", "csv", "--out", file]
      let close = ["month", "close", month, "--yes"]
      faulty.proxy.cut(cut, at: "analysis.close_usage($1)", skipping: 1)
      let lost = try await faulty.installation.control(close)
      #expect(faulty.proxy.struck == 1)
      #expect(lost.code == 69, "\(lost.messages)")
      #expect(
        try await faulty.queue.number("SELECT count(*)::int FROM analysis.statement")
          == (cut == .afterAnswer ? 1 : 0))

      let closed = try await faulty.installation.control(close)
      #expect(closed.code == (cut == .afterAnswer ? 5 : 0), "\(closed.messages)")
      #expect(try await faulty.installation.control(close).code == 5)
      let written = try await faulty.installation.control(report)
      #expect(written.code == 0, "\(written.messages)")
      let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
      #expect(String(decoding: bytes, as: UTF8.self).contains(faulty.installation.user))
      #expect(try await faulty.queue.number("SELECT count(*)::int FROM analysis.statement") == 1)
      let repeated = try await faulty.installation.control(report)
      #expect(repeated.code == 5, "\(repeated.messages)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == bytes)
    }
  }
}
