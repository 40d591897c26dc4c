import TestSupport

#if DEBUG
  import Foundation
  import Testing

  @Suite("A worker that is told to stop")
  struct StopTests {
    /// Changes next to nothing, and makes the worker log when a call begins.
    private static let tellsOfCalls = "before-upload=delay:1@1"

    /// Returns when a call of the worker has begun.
    private func isCalling(_ worker: Executable) async throws {
      try await eventually { worker.messagesSoFar.contains("before-upload\"}") }
    }

    @Test(
      "finishes the calls in flight, hands the rest back untouched and ends with 0",
      arguments: [SIGTERM, SIGINT])
    func finishes(signal: Int32) async throws {
      // So many that the worker is in their midst when it is told, however late that is.
      try await WorkerTrial.with(jobs: 400, endpoint: ["--delay", "300ms"]) { trial in
        let worker = try trial.worker()
        try await eventually { try await trial.results >= WorkerTrial.concurrency }
        worker.send(signal)
        let ended = await worker.ended()
        #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
        // Whatever was called for is stored, the others are as they were.
        let results = try await trial.results
        #expect(results < trial.jobs.count)
        #expect(try trial.calls.count == results)
        #expect(
          try await trial.installation.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0")
            == trial.jobs.count - results)
        try await trial.installation.expectInvariants()
        try await trial.drain(concurrency: 64)
        try await trial.expectEachEnded()
        #expect(try trial.calls.values.allSatisfy { $0 == 1 })
      }
    }

    @Test("and told so a second time hands the calls in flight back at once, and ends with 0")
    func handsBack() async throws {
      try await WorkerTrial.with(jobs: 20, endpoint: ["--delay", "1s"]) { trial in
        let worker = try trial.worker(["--grace", "1h"], failpoints: Self.tellsOfCalls)
        try await eventually { try await trial.held(by: worker) > WorkerTrial.concurrency }
        try await isCalling(worker)
        worker.send(SIGTERM)
        try await eventually { worker.messagesSoFar.contains("calls in flight may finish") }
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
        try await trial.expectNoAttemptConsumed()
        try await trial.drain()
        try await trial.expectEachEnded()
      }
    }

    @Test("releases what is still in flight when the grace time is over, and ends with 0")
    func graceIsOver() async throws {
      try await WorkerTrial.with(jobs: 6, endpoint: ["--delay", "1h"]) { trial in
        let worker = try trial.worker(["--grace", "500ms"], failpoints: Self.tellsOfCalls)
        try await eventually { try await trial.held(by: worker) == trial.jobs.count }
        try await isCalling(worker)
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
        #expect(ended.messages.contains("calls in flight are released"), "\(ended.messages)")
        try await trial.expectNoAttemptConsumed()
        #expect(
          try await trial.installation.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0")
            == trial.jobs.count)
        try await trial.installation.expectInvariants()
      }
    }

    @Test(
      "stores and releases all the same when the database is away for a moment just then",
      arguments: ["before-store", "store-answered", "before-release", "hand-back-answered"])
    func databaseAway(failpoint: String) async throws {
      // So many that the worker is in their midst when it is told, however late that is.
      try await WorkerTrial.with(jobs: 400, endpoint: ["--delay", "300ms"]) { trial in
        let worker = try trial.worker(
          failpoints: "\(Self.tellsOfCalls),\(failpoint)=error@1,\(failpoint)=error@2")
        try await eventually { try await trial.held(by: worker) > WorkerTrial.concurrency }
        try await isCalling(worker)
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
        #expect(ended.messages.contains("\"failpoint\":\"\(failpoint)\""))
        try await trial.installation.expectInvariants()
        try await trial.expectNoAttemptConsumed()
        try await trial.drain(concurrency: 64)
        try await trial.expectEachEnded()
        #expect(try trial.calls.values.allSatisfy { $0 == 1 })
      }
    }
  }
#endif
