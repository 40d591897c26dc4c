import Foundation
import TestSupport
import Testing

@Suite("Recovery at default settings")
struct RecoveryTests {
  @Test("The jobs of a worker that was killed are done by another within 30 s")
  func withinThirtySeconds() async throws {
    // The first worker's calls are never answered, so that it holds all jobs however slow the machine is.
    let endpoint = ["--fail", "timeout=1@1", "--hang", "1h", "--delay", "10s"]
    try await WorkerTrial.with(jobs: 12, endpoint: endpoint) { trial in
      let options = ["--endpoint", trial.endpoint.url]
      let environment = trial.installation.environment
      let victim = try Executable("analysis-worker", options, environment: environment)
      try await eventually { try await trial.held(by: victim) == trial.jobs.count }
      let heir = try Executable("analysis-worker", options, environment: environment)
      try await eventually {
        try await trial.installation.number("SELECT count(*)::int FROM analysis.worker") == 2
      }
      victim.send(SIGKILL)
      #expect(await victim.ended().wasKilled)
      let killedAt = try await trial.installation.text("SELECT clock_timestamp()::text")

      try await eventually { try await trial.held(by: heir) == trial.jobs.count }
      // The promise, by the server's clock: they are in another's hands.
      let seconds = try await trial.installation.number(
        "SELECT extract(epoch FROM clock_timestamp() - '\(killedAt)'::timestamptz)::int")
      #expect(seconds <= 30)
      try await eventually { try await trial.results == trial.jobs.count }
      heir.send(SIGTERM)
      #expect(await heir.ended().code == 0)
      try await trial.expectNoAttemptConsumed()
      try await trial.expectEachEnded()
    }
  }
}
