import BenchmarkKit
import PostgreSQL
import Queue

/// What the rows that submit have in common.
enum Enqueue {
  /// A database with users and images, to be copied for each run.
  static func template(
    _ bench: Bench, named name: String = "enqueue_template"
  ) async throws -> BenchmarkDatabase {
    let template = try await bench.cluster.freshDatabase(named: name)
    _ = try await QueueFixture.make(in: template, pictures: PictureBytes.pictures(200, bytes: 64))
    return template
  }

  /// Submits in a process of its own, and looks whether every job waits, has its key and is counted.
  ///
  /// - Parameter hasGauges: Whether the gauges are as fresh as a living worker keeps them; a submit takes them for a minute.
  ///   Without them it asks the server's statistics, where a limit is set.
  static func ours(
    _ name: String, _ template: BenchmarkDatabase, jobs: Int, batch: Int, connections: Int = 1,
    bytes: Int? = nil, vacuums: Bool = true, hasGauges: Bool = true
  ) -> Contender {
    Contender(name) { bench in
      try await bench.withDatabase(named: "enqueue_run", from: template) { database in
        try await bench.cluster.settle(database, vacuums: vacuums)
        if hasGauges { try await WorkerStatements.refreshGauges().run(on: database.pool) }
        let sample = try await bench.drive(
          [
            "enqueue", "--database", database.conninfo, "--jobs", "\(jobs)", "--batch", "\(batch)",
            "--connections", "\(connections)",
          ] + (bytes.map { ["--bytes", "\($0)"] } ?? []))
        let counts = try await database.pool.query(
          """
          SELECT (SELECT count(*) FROM analysis.ready), (SELECT count(*) FROM analysis.idem),
                 (SELECT coalesce(sum(used), 0)::bigint FROM analysis.usage)
          """
        ).single()
        for column in 0..<3 {
          let found = try counts.int(column)
          guard found == Int(sample.amount) else {
            throw BenchmarkError("Of \(Int(sample.amount)) jobs \(found) are queued, keyed or counted.")
          }
        }
        return sample
      }
    }
  }

  /// An empty database with a table of bare rows.
  static func withBareTable(
    _ bench: Bench, _ body: @Sendable (BenchmarkDatabase) async throws -> Sample
  ) async throws -> Sample {
    let database = try await bench.cluster.emptyDatabase(named: "enqueue_bare")
    _ = try await database.pool.query(
      "CREATE TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text NOT NULL)")
    try await bench.cluster.settle(database)
    let sample = try await body(database)
    try await bench.cluster.drop(database)
    return sample
  }
}
