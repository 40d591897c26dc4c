import Foundation
import QueueTestSupport
import TestSupport
import Testing

@Suite("The server's processes are struck while jobs pass")
struct BackendTests {
  @Test(
    "Backends that are terminated or cancelled again and again cost no job and no attempt",
    arguments: ["pg_terminate_backend", "pg_cancel_backend"])
  func struck(function: String) async throws {
    // Work for ten seconds at least, so that there is some left when the first is struck.
    try await Installation.with(jobs: 1000, endpoint: ["--delay", "50ms"]) { installation in
      let worker = try installation.worker(["--drain", "--drain-horizon", "60s"])
      try await eventually { try await installation.queue.results >= 10 }
      var struck = 0
      while try await installation.queue.results < installation.jobs.count {
        // Not those that only wait: a cancellation of nothing is nothing.
        struck += try await installation.queue.number(
          """
          SELECT count(\(function)(pid))::int FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'analysis-worker'
            AND ('\(function)' = 'pg_terminate_backend' OR state = 'active')
          """)
        let before = try await installation.queue.results
        try await eventually {
          let now = try await installation.queue.results
          return now >= min(before + 20, installation.jobs.count)
        }
      }
      let ended = await worker.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      #expect(struck > 0 || function == "pg_cancel_backend")
      try await installation.expectNoAttemptConsumed()
      try await installation.expectEachEnded()
    }
  }

  @Test("A frozen backend holds the worker up for no longer than its deadline; it goes on with a new one")
  func frozen() async throws {
    // As above: with nothing left to do it needs fewer connections.
    try await FaultyCluster.with(jobs: 1000, endpoint: ["--delay", "50ms"]) { faulty in
      let worker = try faulty.installation.worker()
      try await eventually { try await faulty.queue.results >= 20 }
      let frozen = try await faulty.backends()
      for pid in frozen { try faulty.cluster.signal(pid, SIGSTOP) }
      // For claims and leases, for results, for images: no error tells of a frozen one, only the deadline.
      try await faulty.eventuallyThere {
        try await faulty.backends().filter { !frozen.contains($0) }.count >= 3
      }
      // One that was frozen in the midst of a statement holds its rows until it is let go.
      for pid in frozen { try? faulty.cluster.signal(pid, SIGCONT) }
      try await faulty.eachHasResult()
      await faulty.installation.stop(worker)
      try await faulty.expectUnharmed()
    }
  }
}
