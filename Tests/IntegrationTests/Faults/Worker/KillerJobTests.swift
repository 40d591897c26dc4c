import TestSupport

#if DEBUG
  import AnalysisCore
  import Foundation
  import Testing

  @Suite("A job that always kills its worker")
  struct KillerJobTests {
    @Test("is dead after its attempts, with its cause, and costs no other job an attempt")
    func endsDead() async throws {
      let attempts = 2
      try await WorkerTrial.with(jobs: 40, maxAttempts: attempts) { trial in
        let killer = trial.jobs[17]
        // Two places at which a service manager starts a new worker for each that crashed.
        let crashes = try await withThrowingTaskGroup(of: Int.self) { group in
          for _ in 0..<2 {
            group.addTask { try await keepRunning(trial, killer) }
          }
          return try await group.reduce(0, +)
        }
        #expect(crashes > attempts)
        try await trial.expectEachEnded(dead: [killer])
        // Of its attempts only those alone counted; the others paid nothing.
        let cause = try await trial.installation.text(
          "SELECT class || ' ' || attempts FROM analysis.dead WHERE job_id = \(killer)")
        #expect(cause == "worker_lost \(attempts)")
        let paid = try await trial.installation.number(
          "SELECT count(*)::int FROM analysis.attempt_error WHERE consumed AND job_id <> \(killer)")
        #expect(paid == 0)
        #expect(
          try await trial.installation.number("SELECT count(*)::int FROM analysis.result WHERE attempt <> 1")
            == 0)
      }
    }

    /// Starts workers one after the other until all jobs have ended; answers how many crashed.
    private func keepRunning(_ trial: WorkerTrial, _ killer: JobID) async throws -> Int {
      var crashes = 0
      while true {
        let worker = try trial.worker(failpoints: "before-upload(job=\(killer))=crash")
        try await eventually {
          if worker.hasEnded { return true }
          return try await trial.hasEnded(jobs: trial.jobs.count)
        }
        if try await trial.hasEnded(jobs: trial.jobs.count) { worker.send(SIGTERM) }
        let ended = await worker.ended()
        guard ended.wasKilled else {
          #expect(ended.code == 0, "\(ended.messages)")
          return crashes
        }
        #expect(ended.code == SIGABRT, "\(ended.messages)")
        try await trial.expireLeases(of: ended)
        crashes += 1
      }
    }
  }
#endif
