import BenchmarkKit

/// What encrypted images cost: jobs on them and on images in the clear, by turns.
struct EncryptionRow: BenchmarkRow {
  let name: String
  let sentence: String
  let headline = Headline.figure(Self.figure, unit: "us/job")
  /// What a run does, with images under these keys or, without any, in the clear.
  private let makeJobs: @Sendable (Bench, PictureKeys?) async throws -> any EncryptionJobs
  private let made = Held<[any EncryptionJobs]>()

  private static let figure = "cpu_us"
  private static let inFlight = 64

  /// Whole jobs: each brings an image of its own, which the server stores, and ends with its result.
  static let wholeJobs = EncryptionRow(
    name: "encryption",
    sentence:
      "processors of server and worker for a whole job, from its submit with a picture of 120 KB of its own to its result, in the clear and encrypted, 64 in flight"
  ) { bench, keys in
    try await SubmittedJobs(bench, jobs: bench.givenSize(4000, quick: 400), keys: keys)
  }

  /// What the worker makes of jobs that wait, on a few images.
  static let fromClaim = EncryptionRow(
    name: "encryption-from-claim",
    sentence:
      "processors of server and worker for a job from its claim to its result, 200 pictures of 120 KB in the clear and encrypted, 64 in flight"
  ) { bench, keys in
    try await JobStage(
      bench, named: keys == nil ? "encryption_clear" : "encryption_sealed",
      jobs: bench.givenSize(20_000, quick: 400),
      pictures: bench.size(QueueFixture.usualPictures, quick: 20), keys: keys)
  }

  private init(
    name: String, sentence: String,
    makeJobs: @escaping @Sendable (Bench, PictureKeys?) async throws -> any EncryptionJobs
  ) {
    self.name = name
    self.sentence = sentence
    self.makeJobs = makeJobs
  }

  /// The difference is small, and a machine's pace is not even.
  func runs(_ settings: BenchmarkSettings) -> Int { settings.isQuick ? settings.runs : max(settings.runs, 5) }

  func contenders(_ bench: Bench) async throws -> [Contender] {
    let clear = try await makeJobs(bench, nil)
    made.put([clear])
    let sealed = try await makeJobs(bench, try PictureKeys())
    made.put([clear, sealed])
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
    for jobs in made.take() ?? [] { await jobs.end() }
  }

  private static func run(_ jobs: any EncryptionJobs, _ bench: Bench) async throws -> Sample {
    var sample = try await jobs.drain(bench, inFlight: inFlight)
    let seconds = (sample.workerSeconds ?? 0) + (sample.serverSeconds ?? 0)
    sample.further[figure] = seconds * 1_000_000 / sample.amount
    return sample
  }
}

/// Jobs that can be run again and again, and what they need for it.
protocol EncryptionJobs: Sendable {
  /// One worker runs all of them; server and worker are metered.
  func drain(_ bench: Bench, inFlight: Int) async throws -> Sample
  /// Ends what was started for them.
  func end() async
}

extension JobStage: EncryptionJobs {}
