import QueueTestSupport
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
      try await Installation.with(jobs: 400, endpoint: ["--delay", "300ms"]) { installation in
        let worker = try installation.worker()
        try await eventually { try await installation.queue.results >= Installation.concurrency }
        worker.send(signal)
        let ended = await worker.ended()
        #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
        // Whatever was called for is stored, the others are as they were.
        let results = try await installation.queue.results
        #expect(results < installation.jobs.count)
        #expect(try installation.calls.count == results)
        #expect(
          try await installation.queue.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0")
            == installation.jobs.count - results)
        try await installation.queue.expectSound()
        try await installation.drain(concurrency: 64)
        try await installation.expectEachEnded()
        #expect(try installation.calls.values.allSatisfy { $0 == 1 })
      }
    }

    @Test("and told so a second time hands the calls in flight back at once, and ends with 0")
    func handsBack() async throws {
      try await Installation.with(jobs: 20, endpoint: ["--delay", "1s"]) { installation in
        let worker = try installation.worker(["--grace", "1h"], failpoints: Self.tellsOfCalls)
        try await eventually { try await installation.held(by: worker) > Installation.concurrency }
        try await isCalling(worker)
        worker.send(SIGTERM)
        try await eventually { worker.messagesSoFar.contains("calls in flight may finish") }
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
        try await installation.expectNoAttemptConsumed()
        try await installation.drain()
        try await installation.expectEachEnded()
      }
    }

    @Test("releases what is still in flight when the grace time is over, and ends with 0")
    func graceIsOver() async throws {
      try await Installation.with(jobs: 6, endpoint: ["--delay", "1h"]) { installation in
        let worker = try installation.worker(["--grace", "500ms"], failpoints: Self.tellsOfCalls)
        try await eventually { try await installation.held(by: worker) == installation.jobs.count }
        try await isCalling(worker)
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
        #expect(ended.messages.contains("calls in flight are released"), "\(ended.messages)")
        try await installation.expectNoAttemptConsumed()
        #expect(
          try await installation.queue.number("SELECT count(*)::int FROM analysis.ready WHERE tries = 0")
            == installation.jobs.count)
        try await installation.queue.expectSound()
      }
    }

    @Test(
      "stores and releases all the same when the database is away for a moment just then",
      arguments: ["before-store", "store-answered", "before-release", "hand-back-answered"])
    func databaseAway(failpoint: String) async throws {
      // So many that the worker is in their midst when it is told, however late that is.
      try await Installation.with(jobs: 400, endpoint: ["--delay", "300ms"]) { installation in
        let worker = try installation.worker(
          failpoints: "\(Self.tellsOfCalls),\(failpoint)=error@1,\(failpoint)=error@2")
        try await eventually { try await installation.held(by: worker) > Installation.concurrency }
        try await isCalling(worker)
        worker.send(SIGTERM)
        let ended = await worker.ended()
        #expect(ended.code == 0 && !ended.wasKilled, "\(ended.messages)")
        #expect(ended.messages.contains("\"failpoint\":\"\(failpoint)\""))
        try await installation.queue.expectSound()
        try await installation.expectNoAttemptConsumed()
        try await installation.drain(concurrency: 64)
        try await installation.expectEachEnded()
        #expect(try installation.calls.values.allSatisfy { $0 == 1 })
      }
    }
  }
#endif
