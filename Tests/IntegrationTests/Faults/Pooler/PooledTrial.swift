import JobQueue
import PostgreSQL
import TestSupport
import Testing

extension WorkerTrial {
  /// A trial whose executables reach the database through a pooler in transaction mode only; the test itself
  /// looks past it.
  static func pooled(
    jobs: Int, settings: [String: String] = [:], endpoint arguments: [String] = ["--delay", "20ms"],
    _ body: (WorkerTrial, Pooler) async throws -> Void
  ) async throws {
    let picture = try await drawnPicture()
    try await Installation.with { direct in
      try await withPooler(to: direct.database.conninfo, settings: settings) { pooler in
        let name = direct.database.name
        let installation = Installation(
          database: TestDatabase(conninfo: pooler.conninfo(database: name), name: name), loop: direct.loop,
          pool: direct.pool)
        try await RunningEndpoint.with(arguments) { endpoint in
          try await installation.addUser("clinic-1")
          let submitted =
            jobs == 0 ? [] : try await installation.submit(jobs, user: "clinic-1", image: picture)
          try #require(submitted.count == jobs)
          try await body(
            WorkerTrial(installation: installation, endpoint: endpoint, jobs: submitted), pooler)
        }
      }
    }
  }
}
