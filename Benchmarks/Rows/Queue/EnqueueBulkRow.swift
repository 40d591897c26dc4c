import BenchmarkKit

/// Jobs submitted many in a call.
struct EnqueueBulkRow: BenchmarkRow {
  let name = "enqueue-bulk"
  let sentence =
    "submit many jobs in a call: quota, keys, fair shares and references to 200 images taken; once with the images' bytes"
  let headline = Headline.rate(of: "jobs")

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let template = try await Enqueue.template(bench)
    let jobs = bench.size(200_000, quick: 2000)
    let queues = [(5000, 2), (1000, 1), (5000, 1), (1000, 2), (5000, 3)].map { batch, connections in
      Enqueue.ours(
        "\(batch) a call\(connections > 1 ? ", \(connections) connections" : "")", template, jobs: jobs,
        batch: batch, connections: connections)
    }
    let withBytes = Enqueue.ours(
      "with 120 kB each, 64 a call", template, jobs: bench.size(4000, quick: 50), batch: 64, bytes: 120_000)
    let unvacuumed = Enqueue.ours(
      "1000 a call, not vacuumed", template, jobs: jobs, batch: 1000, vacuums: false)
    let options = ["--jobs", "\(jobs)", "--batch", "1000"]
    return queues + [unvacuumed, withBytes, insert(jobs), copy(jobs)]
      + bench.peers("enqueue-bulk", options: options)
      + bench.peers("enqueue-bulk", "not vacuumed", options: options, vacuums: false)
  }

  private func insert(_ jobs: Int) -> Contender {
    Contender("pgbench, insert 1000 bare rows", .limit) { bench in
      try await Enqueue.withBareTable(bench) { database in
        try await BenchmarkTool(bench: bench).sample(
          script: "INSERT INTO bare (payload) SELECT '{\"image\": 17}' FROM generate_series(1, 1000);",
          transactions: jobs / 1000, perTransaction: 1000, in: database)
      }
    }
  }

  private func copy(_ jobs: Int) -> Contender {
    Contender("psql, copy bare rows", .limit) { bench in
      try await Enqueue.withBareTable(bench) { database in
        try await CopyTool(bench: bench).copy(rows: jobs, into: database)
      }
    }
  }
}
