import AnalysisCore
import Foundation
import TestSupport
import Testing

@Suite(
  "When an asynchronous standby takes over that lags behind",
  .enabled(if: ServerCluster.canReplicate, "this server came without pg_basebackup"))
struct AsynchronousTests {
  @Test("what it had is whole, and what workers bring for jobs that it never had is stored nowhere")
  func lost() async throws {
    try await FailoverTrial.with(jobs: 10, isSynchronous: false, endpoint: ["--delay", "10s"]) { failover in
      let trial = failover.trial
      try await failover.caughtUp()
      // From here on the standby hears nothing.
      try await failover.standby.stop(.fast)
      let lost = try await trial.submitFurther(10)
      let worker = try trial.worker(concurrency: 20)
      try await eventually { try await trial.endpoint.inFlight == 20 }
      try await failover.primary.kill()
      try await failover.standby.start()
      try await failover.standby.promote()

      try await eventually { try await trial.results == 10 }
      await failover.end([worker])
      let ended = await worker.ended()
      #expect(try trial.lastWords(of: ended)["stale"] == 20, "\(ended.messages)")
      // None of the lost ones is there, and nothing of theirs.
      let there = try await trial.installation.number(
        "SELECT count(*)::int FROM analysis.job WHERE id IN (\(lost.map(\.description).joined(separator: ", ")))"
      )
      #expect(there == 0)
      #expect(try await trial.installation.number("SELECT sum(used)::int FROM analysis.usage") == 10)
      try await trial.installation.expectInvariants()
      try await trial.expectNoAttemptConsumed()
    }
  }

  @Test("a submit that waits for a job that it never had ends, and names the job")
  func waiting() async throws {
    try await FailoverTrial.with(isSynchronous: false) { failover in
      let trial = failover.trial
      try await failover.caughtUp()
      try await failover.standby.stop(.fast)
      let picture = try await drawnPictures.folder().appending(path: "throat-01.jpg").path
      let submit = try Executable(
        "analysisctl", ["submit", "--user", FailoverTrial.user, "--type", "throat", "--wait", picture],
        environment: trial.installation.environment)
      try await eventually {
        try await trial.installation.number("SELECT count(*)::int FROM analysis.job") == 1
      }
      try await failover.primary.kill()
      try await failover.standby.start()
      try await failover.standby.promote()
      let ended = await submit.ended()
      #expect(ended.code == 4, "\(ended.messages)")
      #expect(ended.messages.contains("There is no job"), "\(ended.messages)")
      try await trial.installation.expectInvariants()
    }
  }
}
