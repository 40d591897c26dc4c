import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("Twenty workers that are started at once")
struct ManyWorkersTests {
  @Test("all run, share the jobs, and call for each exactly once")
  func share() async throws {
    let count = 20
    try await Installation.with(jobs: 400, endpoint: ["--delay", "50ms"]) { installation in
      // Twenty programs on few cores may be slow to say that they live; no lease is to be lost here.
      let workers = try (0..<count).map { _ in try installation.worker(leaseDuration: "10m") }
      try await eventually {
        try await installation.queue.number("SELECT count(DISTINCT pid)::int FROM analysis.worker") == count
      }
      try await eventually { try await installation.queue.results == installation.jobs.count }
      for worker in workers { worker.send(SIGTERM) }
      var completed: [Int] = []
      for worker in workers {
        let ended = await worker.ended()
        #expect(ended.code == 0, "\(ended.messages)")
        completed.append(try installation.lastWords(of: ended)["completed"] ?? 0)
      }
      #expect(completed.reduce(0, +) == installation.jobs.count)
      #expect(completed.count { $0 > 0 } > 1, "one worker did it all: \(completed)")
      #expect(try installation.calls.values.allSatisfy { $0 == 1 })
      try await installation.expectNoAttemptConsumed()
      try await installation.expectEachEnded()
    }
  }
}
