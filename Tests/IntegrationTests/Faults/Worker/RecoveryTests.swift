import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("Recovery at default settings")
struct RecoveryTests {
  @Test("The jobs of a worker that was killed are done by another within 30 s")
  func withinThirtySeconds() async throws {
    // The first worker's calls are never answered, so that it holds all jobs however slow the machine is.
    let endpoint = ["--fail", "timeout=1@1", "--hang", "1h", "--delay", "10s"]
    try await Installation.with(jobs: 12, endpoint: endpoint) { installation in
      let options = ["--endpoint", installation.endpoint.url]
      let environment = installation.queue.environment
      let victim = try Executable("analysis-worker", options, environment: environment)
      try await eventually { try await installation.held(by: victim) == installation.jobs.count }
      let heir = try Executable("analysis-worker", options, environment: environment)
      try await eventually {
        try await installation.queue.number("SELECT count(*)::int FROM analysis.worker") == 2
      }
      victim.send(SIGKILL)
      #expect(await victim.ended().wasKilled)
      let killedAt = try await installation.queue.text("SELECT clock_timestamp()::text")

      try await eventually { try await installation.held(by: heir) == installation.jobs.count }
      // The promise, by the server's clock: they are in another's hands.
      let seconds = try await installation.queue.number(
        "SELECT extract(epoch FROM clock_timestamp() - '\(killedAt)'::timestamptz)::int")
      #expect(seconds <= 30)
      try await eventually { try await installation.queue.results == installation.jobs.count }
      heir.send(SIGTERM)
      #expect(await heir.ended().code == 0)
      try await installation.expectNoAttemptConsumed()
      try await installation.expectEachEnded()
    }
  }
}
