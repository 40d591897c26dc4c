import BenchmarkKit
import PostgreSQL

/// How fast one process takes jobs out of the queue and ends them.
struct DrainRow: BenchmarkRow {
  let name = "drain"
  let sentence =
    "claim and complete jobs without a model, one process: leases, fencing and fair shares are taken, results stored"
  let headline = Headline.rate(of: "jobs")

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let template = try await bench.cluster.freshDatabase(named: "drain_template")
    _ = try await QueueFixture.make(in: template, pictures: PictureBytes.pictures(200, bytes: 64))
    // The first as a worker does it by itself: as many as it stores at once, of whole analyses.
    let queues = [
      (100, 1, true, true), (100, 1, true, false), (500, 1, true, true), (100, 1, false, true),
      (500, 1, false, true), (500, 2, false, true),
    ].map { ours(template, batch: $0.0, workers: $0.1, whole: $0.2, vacuums: $0.3) }
    let options = ["--jobs", "\(bench.givenSize(10_000, quick: 500))"]
    return queues + [bare()]
      + bench.peers("drain-whole", Self.whole, fill: "fill-whole", options: options)
      + bench.peers(
        "drain-whole", "\(Self.whole), not vacuumed", fill: "fill-whole", options: options, vacuums: false)
      + bench.peers("drain", Self.machinery, fill: "fill", options: options)
  }

  /// Three conditions a result, as a model answers.
  private static let whole = "whole analyses"
  /// The smallest result that the schema takes; none, where a peer stores none.
  private static let machinery = "machinery only"

  private func ours(
    _ template: BenchmarkDatabase, batch: Int, workers: Int, whole: Bool, vacuums: Bool
  ) -> Contender {
    let name = [
      "\(batch) a batch", workers > 1 ? "\(workers) workers" : nil,
      whole ? Self.whole : Self.machinery, vacuums ? nil : "not vacuumed",
    ].compactMap { $0 }.joined(separator: ", ")
    return Contender(name) { bench in
      let jobs = bench.givenSize(200_000, quick: 2000)
      return try await bench.withDatabase(named: "drain_run", from: template) { database in
        try await QueueFixture.fill(database, jobs: jobs)
        try await bench.cluster.settle(database, vacuums: vacuums)
        let sample = try await bench.drive(
          [
            "drain", "--database", database.conninfo, "--batch", "\(batch)", "--workers", "\(workers)",
          ]
            + (whole ? ["--whole"] : []))
        let stored = try await database.number("SELECT count(*) FROM analysis.result")
        guard stored == jobs, Int(sample.amount) == jobs else {
          throw BenchmarkError("Of \(jobs) jobs \(stored) have a result.")
        }
        return sample
      }
    }
  }

  /// What the server gives when nothing is kept: rows of a bare table, deleted in order.
  private func bare() -> Contender {
    Contender("pgbench, claim and delete 500", .limit) { bench in
      let rows = bench.givenSize(200_000, quick: 2000)
      let database = try await bench.cluster.emptyDatabase(named: "drain_bare")
      try await database.pool.execute(
        script: """
          CREATE TABLE bare (id bigint PRIMARY KEY, payload bigint NOT NULL);
          INSERT INTO bare SELECT g, g FROM generate_series(1, \(rows)) g;
          """)
      try await bench.cluster.settle(database)
      let sample = try await BenchmarkTool(bench: bench).sample(
        script: """
          DELETE FROM bare WHERE id IN (SELECT id FROM bare ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED) RETURNING *;
          """, transactions: rows / 500, perTransaction: 500, in: database)
      try await bench.cluster.drop(database)
      return sample
    }
  }
}
