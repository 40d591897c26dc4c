import BenchmarkKit
import Foundation

/// The memory of one worker over a long run.
struct MemoryRow: BenchmarkRow {
  let name = "memory"
  let sentence =
    "resident memory of one worker over many jobs, 120 KB a picture: its peak, and whether it grows"
  let headline = Headline.figure("peak_mb", unit: "MB")
  private let stage = Held<JobStage>()

  private static let jobs = 1_000_000
  private static let quickJobs = 2000
  private static let pictures = 300
  private static let quickPictures = 20
  private static let look = Duration.milliseconds(50)

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let stage = try await JobStage(
      bench, named: name, jobs: bench.givenSize(Self.jobs, quick: Self.quickJobs),
      pictures: bench.size(Self.pictures, quick: Self.quickPictures))
    self.stage.put(stage)
    return [64, 256].map { inFlight in
      Contender("\(inFlight) in flight") { try await Self.run(stage, $0, inFlight: inFlight) }
    }
  }

  func clean(_ bench: Bench) async { await stage.take()?.end() }

  private static func run(_ stage: JobStage, _ bench: Bench, inFlight: Int) async throws -> Sample {
    try await stage.withJobs(bench) { database in
      let (course, meter) = try await bench.cluster.metered {
        let worker = try WorkerDrain.start(bench, database, endpoint: stage.endpoint, inFlight: inFlight)
        return try await watch(worker)
      }
      let span = try await ResultSpan.read(database.pool, expected: stage.jobs)
      return Sample(
        amount: Double(stage.jobs), seconds: span.seconds * Double(stage.jobs) / Double(span.jobs),
        workerSeconds: course.ended.usage.seconds, serverSeconds: meter.serverSeconds,
        peakMemory: course.ended.usage.peakMemory,
        further: try MemoryCourse.figures(course.memory, peak: course.ended.usage.peakMemory))
    }
  }

  /// Looks at its memory until it has ended.
  private static func watch(_ worker: MeasuredProcess) async throws -> (
    ended: MeasuredProcess.Ended, memory: [Int]
  ) {
    var memory: [Int] = []
    while !worker.hasEnded {
      if let now = worker.memory { memory.append(now) }
      try await Task.sleep(for: look)
    }
    return (try await worker.succeeded(), memory)
  }
}
