import BenchmarkKit
import PostgreSQL
import Queue

/// Jobs submitted one by one.
struct EnqueueOneRow: BenchmarkRow {
  let name = "enqueue-one"
  let sentence =
    "submit one job at a time on one connection, each committed: quota, key, fair share and a reference to an image taken"
  let headline = Headline.rate(of: "jobs")

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let template = try await Enqueue.template(bench)
    let jobs = bench.size(5000, quick: 100)
    let limit = Contender("pgbench, insert a bare row", .limit) { bench in
      try await Enqueue.withBareTable(bench) { database in
        try await BenchmarkTool(bench: bench).sample(
          script: "INSERT INTO bare (payload) VALUES ('{\"image\": 17}');", transactions: jobs,
          perTransaction: 1, in: database)
      }
    }
    let options = ["--jobs", "\(jobs)"]
    return [
      Enqueue.ours("submit and wake the workers", template, jobs: jobs, batch: 1),
      Enqueue.ours("the same, no worker lives", template, jobs: jobs, batch: 1, hasGauges: false),
      Enqueue.ours("the same, not vacuumed", template, jobs: jobs, batch: 1, vacuums: false),
      alone(template, jobs), limit,
    ]
      + bench.peers("enqueue-one", options: options)
      + bench.peers("enqueue-one", "not vacuumed", options: options, vacuums: false)
  }

  /// The function by itself, as a back-end calls it in a transaction of its own.
  private func alone(_ template: BenchmarkDatabase, _ jobs: Int) -> Contender {
    Contender("pgbench, analysis.submit alone") { bench in
      try await bench.withDatabase(named: "enqueue_run", from: template) { database in
        try await bench.cluster.settle(database)
        try await WorkerStatements.refreshGauges().run(on: database.pool)
        let image = try await database.pool.query(
          "SELECT encode(sha256, 'hex') FROM analysis.image ORDER BY id LIMIT 1"
        ).single().string(0)
        let sample = try await BenchmarkTool(bench: bench).sample(
          script: """
            \\set n random(1, 1000000000000)
            SELECT o_outcome FROM analysis.submit(0::smallint, ARRAY['clinic-0'], ARRAY[1::smallint], \
            ARRAY[1::smallint], ARRAY['\\x\(image)'::bytea], NULL, NULL, NULL, NULL, ARRAY['visit-' || :n], NULL, NULL, \
            NULL, 10::smallint, NULL, NULL);
            """, transactions: jobs, perTransaction: 1, in: database)
        let queued = try await database.number("SELECT count(*) FROM analysis.ready")
        guard queued == jobs else { throw BenchmarkError("Of \(jobs) submits \(queued) are queued.") }
        return sample
      }
    }
  }
}
