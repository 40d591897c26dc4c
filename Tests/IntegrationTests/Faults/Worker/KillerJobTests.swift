import QueueTestSupport
import TestSupport

#if DEBUG
  @testable import Support
  import Foundation
  import Testing

  @Suite("A job that always kills its worker")
  struct KillerJobTests {
    @Test("is dead after its attempts, with its cause, and costs no other job an attempt")
    func endsDead() async throws {
      let attempts = 2
      try await Installation.with(jobs: 40, maxAttempts: attempts) { installation in
        let killer = installation.jobs[17]
        // Two places at which a service manager starts a new worker for each that crashed.
        let crashes = try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<2 {
            group.addTask { try await keepRunning(installation, killer) }
          }
          return try await group.reduce(0, +)
        }
        #expect(crashes > attempts)
        try await installation.expectEachEnded(dead: [killer])
        // Of its attempts only those alone counted; the others paid nothing.
        let cause = try await installation.queue.text(
          "SELECT class || ' ' || attempts FROM analysis.dead WHERE job_id = \(killer)")
        #expect(cause == "worker_lost \(attempts)")
        let paid = try await installation.queue.number(
          "SELECT count(*)::int FROM analysis.attempt_error WHERE consumed AND job_id <> \(killer)")
        #expect(paid == 0)
        #expect(
          try await installation.queue.number("SELECT count(*)::int FROM analysis.result WHERE attempt <> 1")
            == 0)
      }
    }

    /// Starts workers one after the other until all jobs have ended; answers how many crashed.
    private func keepRunning(_ installation: Installation, _ killer: JobID) async throws -> Int {
      var crashes = 0
      while true {
        let worker = try installation.worker(failpoints: "before-upload(job=\(killer))=crash")
        try await eventually {
          if worker.hasEnded { return true }
          return try await installation.hasEnded(jobs: installation.jobs.count)
        }
        if try await installation.hasEnded(jobs: installation.jobs.count) { worker.send(SIGTERM) }
        let ended = await worker.ended()
        guard ended.wasKilled else {
          #expect(ended.code == 0, "\(ended.messages)")
          return crashes
        }
        #expect(ended.code == SIGABRT, "\(ended.messages)")
        try await installation.expireLeases(of: ended)
        crashes += 1
      }
    }
  }
#endif
