import AnalysisCore
import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite("A connection is cut at a statement, before the server saw it or after it was carried out")
struct LostAnswerTests {
  @Test(
    "A submit looks the outcome up by its keys: every picture is one job",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func submit(cut: FaultProxy.Cut) async throws {
    try await ServerTrial.with(jobs: 0) { trial in
      trial.proxy.cut(cut, at: "analysis.submit(")
      let submit = try await trial.control(try await trial.submission())
      #expect(submit.code == 0, "\(submit.messages)")
      #expect(trial.proxy.struck == 1)
      // What the lost call had created is told as submitted before.
      #expect(submit.output.contains("duplicate") == (cut == .afterAnswer))
      try await trial.trial.drain()
      try await trial.expectUnharmed(also: submit.jobs)
    }
  }

  @Test(
    "A claim that was carried out is looked up by its lease: the jobs are back at once, no loss is counted",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func claim(cut: FaultProxy.Cut) async throws {
    try await ServerTrial.with(jobs: 60) { trial in
      trial.proxy.cut(cut, at: "analysis.claim(", times: 4)
      let worker = try trial.trial.worker()
      try await trial.eachHasResult()
      #expect(trial.proxy.struck == 4)
      try await trial.stop(worker)
      #expect(try await trial.installation.number("SELECT count(*)::int FROM analysis.attempt_error") == 0)
      #expect(try trial.trial.calls.values.allSatisfy { $0 == 1 })
      try await trial.expectUnharmed()
    }
  }

  @Test(
    "A completion is stored once, and the endpoint is not called again",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func complete(cut: FaultProxy.Cut) async throws {
    try await ServerTrial.with(jobs: 60) { trial in
      trial.proxy.cut(cut, at: "analysis.complete(", skipping: 1, times: 3)
      let worker = try trial.trial.worker()
      try await trial.eachHasResult()
      #expect(trial.proxy.struck == 3)
      try await trial.stop(worker)
      #expect(try trial.trial.calls.values.allSatisfy { $0 == 1 })
      try await trial.expectUnharmed()
    }
  }

  @Test(
    "A failed attempt is recorded once and consumes one attempt",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func fail(cut: FaultProxy.Cut) async throws {
    // The first try of every job fails.
    try await ServerTrial.with(jobs: 12, endpoint: ["--fail", "500=1@1"]) { trial in
      trial.proxy.cut(cut, at: "analysis.fail(", times: 2)
      let worker = try trial.trial.worker()
      try await trial.eachHasResult()
      #expect(trial.proxy.struck == 2)
      try await trial.stop(worker)
      #expect(
        try await trial.installation.number(
          "SELECT count(*)::int FROM analysis.attempt_error WHERE consumed") == 12)
      #expect(
        try await trial.installation.number("SELECT count(*)::int FROM analysis.result WHERE attempt = 2")
          == 12)
      #expect(try trial.trial.calls.values.allSatisfy { $0 == 2 })
      try await trial.trial.expectEachEnded()
    }
  }

  @Test(
    "Jobs that a stopping worker releases are back once",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func release(cut: FaultProxy.Cut) async throws {
    // So many that the worker holds some when it is told to stop, however late that is.
    try await ServerTrial.with(jobs: 400, endpoint: ["--delay", "200ms"]) { trial in
      trial.proxy.cut(cut, at: "analysis.release(", times: 1)
      let worker = try trial.trial.worker()
      try await eventually { try await trial.trial.results >= 4 }
      try await trial.stop(worker)
      #expect(trial.proxy.struck == 1)
      #expect(try await trial.trial.held == 0)
      try await trial.trial.drain(concurrency: 64)
      try await trial.expectUnharmed()
    }
  }

  @Test("Every statement of a worker is cut off again and again, on both sides, and each job ends once")
  func everywhere() async throws {
    try await ServerTrial.with(jobs: 300) { trial in
      let statements = [
        "claim(", "complete(", "heartbeat(", "promote(", "tick(", "apply_refunds(", "rescue(", "take_turn(",
        "refresh_gauges(", "image WHERE", "sweep(", "disclaim(",
      ]
      for statement in statements {
        trial.proxy.cut(.afterAnswer, at: "analysis.\(statement)", skipping: 1, times: 2)
        trial.proxy.cut(.beforeServer, at: "analysis.\(statement)", skipping: 3, times: 2)
      }
      let worker = try trial.trial.worker()
      try await trial.eachHasResult()
      #expect(trial.proxy.struck >= 10)
      try await trial.stop(worker)
      try await trial.expectUnharmed()
    }
  }

  @Test(
    "A month whose closing lost its answer is closed once, and its statement comes out the same for ever",
    arguments: [FaultProxy.Cut.beforeServer, .afterAnswer])
  func close(cut: FaultProxy.Cut) async throws {
    try await ServerTrial.with(jobs: 0) { trial in
      let folder = try TemporaryFolder()
      let file = folder.path("usage.csv")
      // Two months ago is long over.
      let month = try await trial.installation.text(
        "SELECT to_char(now() - interval '2 months', 'YYYY-MM')")
      _ = try await trial.installation.pool.query(
        "UPDATE analysis.account SET created_at = now() - interval '1 year'")
      let report = ["report", "usage", "--month", month, "--format", "csv", "--out", file]
      trial.proxy.cut(cut, at: "COMMIT", after: "close_usage")
      let lost = try await trial.control(report)
      #expect(trial.proxy.struck == 1)
      #expect(lost.code == 69, "\(lost.messages)")
      #expect(!FileManager.default.fileExists(atPath: file))
      #expect(
        try await trial.installation.number("SELECT count(*)::int FROM analysis.statement")
          == (cut == .afterAnswer ? 1 : 0))

      let written = try await trial.control(report)
      #expect(written.code == 0, "\(written.messages)")
      let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
      #expect(String(decoding: bytes, as: UTF8.self).contains(trial.trial.user))
      #expect(try await trial.installation.number("SELECT count(*)::int FROM analysis.statement") == 1)
      let repeated = try await trial.control(report)
      #expect(repeated.code == 5, "\(repeated.messages)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == bytes)
    }
  }
}
