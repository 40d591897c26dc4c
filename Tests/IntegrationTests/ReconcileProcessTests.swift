import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("A recount, by the real executable")
struct ReconcileProcessTests {
  @Test("names a job that somebody has removed from the queue, code 1, until it is cancelled")
  func lostJob() async throws {
    try await withQueue { queue in
      try await queue.addUser("clinic-1")
      let job = try await queue.submit(2, user: "clinic-1", image: try await drawnPicture())[1]
      func run(_ words: String...) async throws -> Executable.Ended {
        try await Executable("analysisctl", words, environment: queue.environment).ended()
      }
      #expect(try await run("reconcile").code == 0)
      _ = try await queue.pool.query(
        "DELETE FROM analysis.ready WHERE job_id = $1", [.int64(job.value)])
      let found = try await run("reconcile")
      #expect(found.code == 1 && found.output.contains("analysisctl jobs cancel \(job)\n"), "\(found)")
      let json = try await run("reconcile", "--json")
      #expect(json.code == 1 && json.output.contains(#""lost_jobs":[{"job":"\#(job)""#), "\(json)")
      #expect(try await run("jobs", "cancel", "\(job)").code == 0)
      #expect(try await run("reconcile").code == 0)
      try await queue.expectSound()
    }
  }
}
