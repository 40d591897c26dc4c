import BenchmarkKit

/// What encrypted images cost: whole jobs on them and on images in the clear, by turns.
struct EncryptionRow: BenchmarkRow {
  let name = "encryption"
  let sentence =
    "processors of worker and server for a whole job, 120 KB a picture in the clear and encrypted, 64 in flight"
  let headline = Headline.figure(Self.figure, unit: "us/job")
  private let stages = Held<[JobStage]>()

  private static let figure = "cpu_us"
  private static let jobs = 20_000
  private static let quickJobs = 400
  private static let quickPictures = 20
  private static let inFlight = 64

  /// The difference is small, and a machine's pace is not even.
  func runs(_ settings: BenchmarkSettings) -> Int { settings.isQuick ? settings.runs : max(settings.runs, 5) }

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let clear = try await stage(bench, named: "encryption_clear", keys: nil)
    stages.put([clear])
    let sealed = try await stage(bench, named: "encryption_sealed", keys: try PictureKeys())
    stages.put([clear, sealed])
    let before = Held<Double>()
    return [
      Contender("in the clear") { bench in
        let sample = try await Self.run(clear, bench)
        if let cost = sample.further[Self.figure] { before.put(cost) }
        return sample
      },
      Contender("encrypted") { bench in
        var sample = try await Self.run(sealed, bench)
        if let cost = sample.further[Self.figure], let clear = before.take(), clear > 0 {
          sample.further["more_percent"] = (cost / clear - 1) * 100
        }
        return sample
      },
    ]
  }

  func clean(_ bench: Bench) async {
    for stage in stages.take() ?? [] { await stage.end() }
  }

  private func stage(_ bench: Bench, named name: String, keys: PictureKeys?) async throws -> JobStage {
    try await JobStage(
      bench, named: name, jobs: bench.givenSize(Self.jobs, quick: Self.quickJobs),
      pictures: bench.size(QueueFixture.usualPictures, quick: Self.quickPictures), keys: keys)
  }

  private static func run(_ stage: JobStage, _ bench: Bench) async throws -> Sample {
    var sample = try await stage.drain(bench, inFlight: inFlight)
    let seconds = (sample.workerSeconds ?? 0) + (sample.serverSeconds ?? 0)
    sample.further[figure] = seconds * 1_000_000 / sample.amount
    return sample
  }
}
