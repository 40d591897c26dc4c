import Foundation
import PostgreSQL
import QueueTestSupport
import TestSupport
import Testing

@testable import Support

@Suite("The database's volume fills up")
struct VolumeTests {
  @Test(
    "With max_database_bytes a submit is refused in time, even when no worker has looked for long; all else goes on"
  )
  func refusedInTime() async throws {
    try await Installation.with(jobs: 20) { installation in
      let queue = installation.queue
      // The submit goes by what vacuum counted, which is less than the files have: free space maps are not in it.
      _ = try await queue.pool.query("VACUUM")
      _ = try await queue.pool.query(
        """
        UPDATE analysis.setting SET value = (pg_database_size(current_database()) / 2)::text
        WHERE name = 'max_database_bytes'
        """)
      // As the last worker saw it, an hour ago.
      _ = try await queue.pool.query(
        """
        INSERT INTO analysis.gauge (name, value, at) VALUES ('database_bytes', 1000, now() - interval '1 hour')
        ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, at = EXCLUDED.at
        """)
      let picture = try await drawnPictures.folder().appending(path: "ear-02.png").path
      let submit = ["submit", "--user", installation.user, "--type", "ear", "--key", "late", picture]
      let refused = try await Executable("analysisctl", submit, environment: queue.environment).ended()
      #expect(refused.code == 4, "\(refused.messages)")
      #expect(refused.messages.contains("no room for more images"), "\(refused.messages)")
      #expect(try await queue.number("SELECT count(*)::int FROM analysis.job") == 20)
      // What is there is done.
      try await installation.drain()
      #expect(try await queue.results == 20)

      _ = try await queue.pool.query(
        "UPDATE analysis.setting SET value = '' WHERE name = 'max_database_bytes'")
      let taken = try await Executable(
        "analysisctl", submit + ["--json"], environment: queue.environment
      ).ended()
      #expect(taken.code == 0, "\(taken.messages)")
      try await installation.drain()
      try await installation.expectNoAttemptConsumed()
      try await installation.expectEachEnded(also: taken.jobs)
    }
  }

  /// What lies on the volume that is full.
  enum Full: CaseIterable, CustomTestStringConvertible {
    case data, dataAndLog

    var testDescription: String { self == .data ? "data" : "data and write-ahead log" }
  }

  @Test(
    "On a full volume workers idle, consume no attempt and fail no job; with room again everything is completed",
    .needsMounting, arguments: Full.allCases)
  func full(what: Full) async throws {
    let volume = try await SmallVolume(megabytes: 160)
    do {
      try await full(what, volume)
      await volume.remove()
    } catch {
      await volume.remove()
      throw error
    }
  }

  private func full(_ what: Full, _ volume: SmallVolume) async throws {
    var options = ServerCluster.Options()
    options.volume = volume.path
    options.keepsLogApart = what == .data
    options.segmentMegabytes = 1
    options.settings = ["max_wal_size": "8MB", "min_wal_size": "2MB"]
    try await FaultyCluster.with(jobs: 400, options) { faulty in
      let worker = try faulty.installation.worker()
      try await eventually { try await faulty.queue.results >= 20 }
      try volume.fill()
      try await eventually {
        worker.messagesSoFar.contains("The database's volume is full")
          || worker.messagesSoFar.contains("could not be reached")
      }
      // A picture of its own, which has to be stored.
      let submit = try await faulty.installation.control(try await faulty.installation.submission())
      #expect([69, 75].contains(submit.code), "\(submit.messages)")
      if what == .data {
        #expect(submit.code == 75)
        #expect(submit.messages.contains("volume is full"), "\(submit.messages)")
      }
      #expect(!worker.hasEnded)

      volume.empty()
      // Without room for its log the server has crashed, and may not have come back by itself.
      if faulty.cluster.postmaster == nil { try await faulty.cluster.start() }
      try await faulty.eachHasResult()
      let again = try await faulty.installation.control(try await faulty.installation.submission())
      #expect(again.code == 0, "\(again.messages)")
      try await faulty.eventuallyThere {
        try await faulty.queue.results == faulty.installation.jobs.count + again.jobs.count
      }
      await faulty.installation.stop(worker)
      #expect(try await faulty.queue.number("SELECT count(*)::int FROM analysis.dead") == 0)
      try await faulty.expectUnharmed(also: again.jobs)
    }
  }
}
