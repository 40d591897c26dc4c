import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Control
@testable import Queue
@testable import Support

@Suite("Changes of jobs and users from two sides at once")
struct ChangeRaceTests {
  @Test("A cancellation against a completion: each job ends once, and only what was cancelled is given back")
  func cancel() async throws {
    try await AccountInstallation.with(jobs: 300) { installation in
      let gate = Gate()
      let backend = try AccountInstallation.backend { call in
        // After the first, a call for each cancellation, so that the two go side by side however fast each is.
        if call.number > 40 { gate.wait() }
        return .analysis(call)
      }
      let worker = try installation.start(backend.url, ["--concurrency", "8", "--prefetch", "8"])
      try await eventually { try await installation.queue.results >= 5 }
      let directory = JobDirectory(installation.queue.pool)
      // From the front, where the worker is, and from the back, where it cannot have been: only a cancellation from
      // the back lets a call through, so the first of them finds its job waiting, however slow each side is.
      let (cancelled, again) = try await withThrowingTaskGroup(of: [JobID: JobChangeOutcome].self) { group in
        for part in 0..<4 {
          group.addTask {
            var outcomes: [JobID: JobChangeOutcome] = [:]
            let fromBack = part >= 2
            let jobs = fromBack ? installation.jobs.reversed() : installation.jobs
            for job in jobs where Int(job.value) % 2 == part % 2 {
              outcomes.merge(try await directory.change([job], .cancel)) { $1 }
              if fromBack { gate.open() }
            }
            return outcomes
          }
        }
        var all: [[JobID: JobChangeOutcome]] = []
        for try await outcomes in group { all.append(outcomes) }
        let merged = all.reduce(into: [JobID: Set<JobChangeOutcome>]()) { sets, outcomes in
          for (job, outcome) in outcomes { sets[job, default: []].insert(outcome) }
        }
        return (merged.filter { $0.value == [.cancelled] }.count, merged.filter { $0.value.count > 1 }.count)
      }
      #expect(again == 0, "two who cancelled the same job were told different things")
      try await eventually {
        try await installation.queue.number("SELECT count(*)::int FROM analysis.result") == 300
      }
      let ended = await installation.stop(worker)
      #expect(!ended.messages.contains("A call of the database failed"), "\(ended.messages)")
      let results = try await installation.queue.results
      #expect(results + cancelled == 300)
      #expect(cancelled > 0)
      #expect(try await installation.queue.units == results)
      #expect(try await installation.queue.count("dead") == 0)
    }
  }

  @Test("A retry of dead jobs against their removal: each is either wholly back or wholly gone")
  func retryAgainstRemoval() async throws {
    try await AccountInstallation.with(jobs: 200, maxAttempts: 1) { installation in
      let backend = try AccountInstallation.backend { _ in .failure(422, "INVALID_IMAGE_FORMAT") }
      let queue = installation.queue
      try await installation.drain(backend.url)
      #expect(try await queue.count("dead") == 200)
      let retried = try await withThrowingTaskGroup(of: Int.self) { group in
        for part in 0..<2 {
          group.addTask {
            let jobs = part == 0 ? installation.jobs : installation.jobs.reversed()
            var count = 0
            for start in stride(from: 0, to: 200, by: 10) {
              let outcomes = try await JobDirectory(queue.pool).change(
                Array(jobs[start..<(start + 10)]), .retry)
              count += outcomes.values.count { if case .requeued = $0 { true } else { false } }
            }
            return count
          }
        }
        group.addTask {
          for start in stride(from: 0, to: 200, by: 5) {
            let jobs = installation.jobs[start..<(start + 5)].map(\.description).joined(separator: ",")
            // As a removal after a time does it: the dead row decides, and what hangs on it goes with it.
            _ = try await queue.pool.query(
              """
              WITH gone AS (
                DELETE FROM analysis.dead WHERE shard = 0 AND job_id IN (\(jobs)) AND job_id % 3 = 0
                RETURNING shard, period, job_id)
              DELETE FROM analysis.job j USING gone g
              WHERE j.shard = g.shard AND j.period = g.period AND j.id = g.job_id
              """)
          }
          return 0
        }
        return try await group.reduce(0, +)
      }
      #expect(try await queue.count("dead") == 0)
      #expect(try await installation.unharmed == retried)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == retried)
      #expect(try await queue.units == retried)
      let good = try AccountInstallation.backend()
      try await installation.drain(good.url)
      #expect(try await queue.results == retried)
    }
  }

  @Test(
    "The same users imported by two processes at once are there once, with one entry of history for each plan"
  )
  func imports() async throws {
    try await withQueue { queue in
      let folder = try TemporaryFolder()
      func importTwice(_ plan: String) async throws {
        let lines = ["user,plan,name,email"] + (1...150).map { "u-\($0),\(plan),U \($0),u\($0)@example.org" }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: folder.path("users.csv")))
        let programs = try (0..<2).map { _ in
          try Executable(
            "analysisctl", ["users", "import", folder.path("users.csv")],
            environment: queue.environment)
        }
        for program in programs {
          let ended = await program.ended()
          #expect(ended.code == 0 || ended.code == 5, "\(ended.messages)")
        }
      }
      try await importTwice("free")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.account") == 150)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.account_plan") == 150)
      try await importTwice("premium")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.account") == 150)
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.account_plan") == 300)
      try await queue.expectSound()
    }
  }
}
