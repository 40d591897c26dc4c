import QueueTestSupport
import TestSupport

#if DEBUG
  import Foundation
  import PostgreSQL
  import Testing
  @testable import Worker

  @Suite("A worker that is killed")
  struct KillTests {
    /// Those that are reached only when a worker stops.
    private static let whenStopping: Set<Failpoint> = [.beforeRelease, .releaseAnswered]

    @Test(
      "by SIGKILL at any moment of a job's way, again and again, loses nothing and doubles nothing",
      arguments: Failpoint.allCases)
    func everywhere(failpoint: Failpoint) async throws {
      try await Installation.with(jobs: 60) { installation in
        for occasion in 1...3 {
          let victim =
            Self.whenStopping.contains(failpoint)
            ? try await stopped(installation, failpoint)
            : try installation.worker(
              leaseDuration: "1s", failpoints: "\(failpoint.rawValue)=kill@\(occasion)")
          try await eventually { victim.hasEnded }
          let ended = await victim.ended()
          #expect(ended.wasKilled && ended.code == SIGKILL, "\(ended.messages)")
          #expect(ended.messages.contains(failpoint.rawValue))
        }
        try await installation.drain()
        try await installation.expectEachEnded()
      }
    }

    /// A worker that is told to stop while it holds more jobs than it has calls in flight.
    private func stopped(_ installation: Installation, _ failpoint: Failpoint) async throws -> Executable {
      let victim = try installation.worker(
        leaseDuration: "1s", failpoints: "before-upload=delay:2000,\(failpoint.rawValue)=kill")
      try await eventually { try await installation.held(by: victim) > Installation.concurrency }
      victim.send(SIGTERM)
      return victim
    }

    @Test("while the server stores its results: all is stored, and no call is made again")
    func whileTheServerStores() async throws {
      try await Installation.with(jobs: 1) { installation in
        let pool = installation.queue.pool
        // Holds the store up in the midst of its transaction. Without waiting for a lock: after 1.5 s a store leaves out
        // whatever is locked.
        try await installation.queue.execute(
          """
          CREATE FUNCTION public.wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            WHILE NOT pg_try_advisory_xact_lock_shared(1) LOOP
              PERFORM pg_sleep(0.01);
            END LOOP;
            RETURN NEW;
          END $$;
          CREATE TRIGGER wait_for_test BEFORE INSERT ON analysis.result
            FOR EACH ROW EXECUTE FUNCTION public.wait_for_test()
          """)
        let victim = try installation.worker(failpoints: "before-store=stop")
        try await victim.hasStopped()
        try await pool.transaction { transaction in
          _ = try await transaction.query("SELECT pg_advisory_xact_lock(1)")
          victim.send(SIGCONT)
          try await eventually {
            try await installation.queue.number(
              """
              SELECT count(*)::int FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event = 'PgSleep' AND query LIKE '%complete%'
              """) == 1
          }
          victim.send(SIGKILL)
          #expect(await victim.ended().wasKilled)
          #expect(try await installation.queue.results == 0)
        }
        // Nobody is there who could store them now but the server itself.
        try await eventually { try await installation.queue.results == 1 }
        #expect(try installation.calls == [installation.jobs[0]: 1])
        try await installation.expectEachEnded()
      }
    }
  }
#endif
