import Foundation
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite(
  "When an asynchronous standby takes over that lags behind",
  .enabled(if: ServerCluster.canReplicate, "this server came without pg_basebackup"))
struct AsynchronousTests {
  @Test("what it had is whole, and what workers bring for jobs that it never had is stored nowhere")
  func lost() async throws {
    try await FailoverCluster.with(jobs: 10, isSynchronous: false, endpoint: ["--delay", "10s"]) { failover in
      let installation = failover.installation
      try await failover.caughtUp()
      // From here on the standby hears nothing.
      try await failover.standby.stop(.fast)
      let lost = try await installation.submitFurther(10)
      let worker = try installation.worker(concurrency: 20)
      try await eventually { try await installation.endpoint.inFlight == 20 }
      try await failover.primary.kill()
      try await failover.standby.start()
      try await failover.standby.promote()

      try await eventually { try await installation.queue.results == 10 }
      await installation.stop(worker)
      let ended = await worker.ended()
      #expect(try installation.lastWords(of: ended)["stale"] == 20, "\(ended.messages)")
      // None of the lost ones is there, and nothing of theirs.
      let there = try await installation.queue.number(
        "SELECT count(*)::int FROM analysis.job WHERE id IN (\(lost.map(\.description).joined(separator: ", ")))"
      )
      #expect(there == 0)
      #expect(try await installation.queue.number("SELECT sum(used)::int FROM analysis.usage") == 10)
      try await installation.queue.expectSound()
      try await installation.expectNoAttemptConsumed()
    }
  }

  @Test("a submit that waits for a job that it never had ends, and names the job")
  func waiting() async throws {
    try await FailoverCluster.with(isSynchronous: false) { failover in
      let installation = failover.installation
      try await failover.caughtUp()
      try await failover.standby.stop(.fast)
      let picture = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
      let submit = try Executable(
        "analysisctl", ["submit", "--user", FailoverCluster.user, "--type", "throat", "--wait", picture],
        environment: installation.queue.environment)
      try await eventually {
        try await installation.queue.number("SELECT count(*)::int FROM analysis.job") == 1
      }
      try await failover.primary.kill()
      try await failover.standby.start()
      try await failover.standby.promote()
      let ended = await submit.ended()
      #expect(ended.code == 4, "\(ended.messages)")
      #expect(ended.messages.contains("There is no job"), "\(ended.messages)")
      try await installation.queue.expectSound()
    }
  }
}
