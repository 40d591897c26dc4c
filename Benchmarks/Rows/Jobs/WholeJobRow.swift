import BenchmarkKit

/// Whole jobs, from the claim to the stored result, by one worker beside the endpoint alone.
struct WholeJobRow: BenchmarkRow {
  let name: String
  let sentence: String
  let headline = Headline.rate(of: "jobs")
  private let delay: Duration
  /// Calls in flight, that of the comparison first.
  private let inFlight: [Int]
  private let jobs: Int
  private let stages = Held<[JobStage]>()

  private static let quickJobs = 400
  private static let quickPictures = 20

  /// An endpoint that answers at once: what the machine does is what a job costs.
  static let undelayed = WholeJobRow(
    name: "whole-job",
    sentence: "whole jobs a second of one worker, 120 KB a picture, an endpoint without delay",
    delay: .zero, inFlight: [64, 16, 256], jobs: 20_000)

  /// An endpoint that takes its time: how well the worker keeps its calls in flight.
  static let delayed = WholeJobRow(
    name: "whole-job-50ms",
    sentence: "whole jobs a second of one worker, 120 KB a picture, each answered after 50 ms",
    delay: .milliseconds(50), inFlight: [64, 256], jobs: 20_000)

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let jobs = bench.givenSize(jobs, quick: Self.quickJobs)
    let pictures = bench.size(QueueFixture.usualPictures, quick: Self.quickPictures)
    let database = name.replacing("-", with: "_")
    let stage = try await JobStage(bench, named: database, jobs: jobs, pictures: pictures, delay: delay)
    stages.put([stage])
    let encrypted = try await JobStage(
      bench, named: "\(database)_encrypted", jobs: jobs, pictures: pictures, delay: delay,
      keys: try PictureKeys())
    stages.put([stage, encrypted])
    let counts = inFlight.prefix(bench.size(inFlight.count, quick: 1))
    // The endpoint after the worker that it is set against.
    let ours = counts.flatMap { inFlight in
      [
        Contender("\(inFlight) in flight") { try await stage.run($0, inFlight: inFlight) },
        Contender("the endpoint alone, \(inFlight) in flight", .limit) {
          try await stage.uploads($0, inFlight: inFlight)
        },
      ]
    }
    let twins = [
      Contender("\(inFlight[0]) in flight, encrypted") { try await encrypted.run($0, inFlight: inFlight[0]) },
      Contender("\(inFlight[0]) in flight, not vacuumed") {
        try await stage.run($0, inFlight: inFlight[0], vacuums: false)
      },
    ]
    return ours + twins
      + bench.peers(
        "whole", fill: "fill-whole",
        options: ["--jobs", "\(jobs)", "--in-flight", "\(inFlight[0])", "--endpoint", stage.endpoint.url])
  }

  func clean(_ bench: Bench) async {
    for stage in stages.take() ?? [] { await stage.end() }
  }
}
