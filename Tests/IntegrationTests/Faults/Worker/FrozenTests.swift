import QueueTestSupport
import TestSupport

#if DEBUG
  import Foundation
  import Testing

  @Suite("A worker that is frozen past its lease")
  struct FrozenTests {
    @Test(
      "and thawed when another has done its jobs stores nothing, counts that, and works on",
      arguments: ["before-upload", "during-upload", "after-answer", "before-store"])
    func tooLate(failpoint: String) async throws {
      try await Installation.with(jobs: 2 * Installation.concurrency) { installation in
        let frozen = try installation.worker(leaseDuration: "1s", failpoints: "\(failpoint)=stop@1")
        try await frozen.hasStopped()
        try await installation.drain()
        let first = try await installation.rows
        #expect(first.count == installation.jobs.count)

        frozen.send(SIGCONT)
        // All that it called for, before or after, comes too late.
        try await eventually { try installation.calls.values.reduce(0, +) > installation.jobs.count }
        // It is none the worse for it: new jobs are done by it alone.
        let later = try await installation.submitFurther(3)
        try await eventually { try await installation.queue.results == installation.jobs.count + 3 }
        frozen.send(SIGTERM)
        let ended = await frozen.ended()
        #expect(ended.code == 0, "\(ended.messages)")
        let words = try installation.lastWords(of: ended)
        #expect(words["completed"] == 3, "\(ended.messages)")
        let stale = try #require(words["stale"])
        #expect(stale > 0 && words["calls"] == 3 + stale, "\(ended.messages)")

        #expect(
          try await installation.rows.filter { !later.contains($0.job) } == first, "a result was changed")
        try await installation.expectEachEnded(also: later)
      }
    }
  }
#endif
