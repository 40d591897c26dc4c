import BenchmarkKit
import PostgreSQL

/// What many shards on one server cost: the same jobs in one shard and in 64, by turns.
struct ShardsRow: BenchmarkRow {
  let name = "shards"
  let sentence =
    "processors of server and worker for a whole job, 120 KB a picture, the jobs of 50 users in one shard and in 64, 64 in flight"
  let headline = Headline.figure(Self.figure, unit: "us/job")
  private let stages = Held<[JobStage]>()

  private static let figure = "cpu_us"
  private static let jobs = 4000
  private static let quickJobs = 400
  private static let inFlight = 64

  func contenders(_ bench: Bench) async throws -> [Contender] {
    var stages: [JobStage] = []
    for shards in [1, 64] {
      stages.append(
        try await JobStage(
          bench, named: "shards_\(shards)", jobs: bench.givenSize(Self.jobs, quick: Self.quickJobs),
          pictures: bench.size(QueueFixture.usualPictures, quick: QueueFixture.userCount), shards: shards))
      self.stages.put(stages)
    }
    let (one, many) = (stages[0], stages[1])
    let before = Held<Sample>()
    return [
      Contender("1 shard") { bench in
        let sample = try await Self.run(one, bench)
        before.put(sample)
        return sample
      },
      Contender("64 shards") { bench in
        var sample = try await Self.run(many, bench)
        if let cost = sample.further[Self.figure], let single = before.take()?.further[Self.figure],
          single > 0
        {
          sample.further["times_one_shard"] = cost / single
        }
        return sample
      },
    ]
  }

  func clean(_ bench: Bench) async {
    for stage in stages.take() ?? [] { await stage.end() }
  }

  private static func run(_ stage: JobStage, _ bench: Bench) async throws -> Sample {
    try await stage.withJobs(bench) { database in
      let ((ended, late), meter) = try await bench.cluster.metered {
        let ended = try await WorkerDrain.start(
          bench, database, endpoint: stage.endpoint, inFlight: inFlight
        ).succeeded()
        let late = try await database.pool.query(
          "SELECT extract(epoch FROM clock_timestamp() - max(finished_at))::float8 * 1000 FROM analysis.result"
        ).single().double(0)
        return (ended, late)
      }
      let span = try await ResultSpan.read(database.pool, expected: stage.jobs)
      let seconds = ended.usage.seconds + meter.serverSeconds
      return Sample(
        amount: Double(stage.jobs), seconds: span.seconds * Double(stage.jobs) / Double(span.jobs),
        workerSeconds: ended.usage.seconds, serverSeconds: meter.serverSeconds,
        peakMemory: ended.usage.peakMemory,
        further: [figure: seconds * 1_000_000 / Double(stage.jobs), "end_after_last_job_ms": late])
    }
  }
}
