import BenchmarkKit

/// Jobs that the encryption rows run again and again, all of them on images in plaintext or all on encrypted ones.
protocol EncryptionJobs: Sendable {
  /// Runs all of them in a fresh database, with server and worker metered. What it throws ends the contender.
  func run(_ bench: Bench, inFlight: Int) async throws -> Sample
  /// Ends what was started for them; called once, also after a failure.
  func end() async
}

extension JobStage: EncryptionJobs {
  func run(_ bench: Bench, inFlight: Int) async throws -> Sample {
    try await run(bench, inFlight: inFlight, vacuums: true)
  }
}

/// What encrypted images cost: jobs on them and on images in plaintext, by turns.
struct EncryptionRow: BenchmarkRow {
  let name: String
  let sentence: String
  let headline = Headline.figure(Self.figure, unit: "us/job")
  /// Makes jobs on images under these keys or, without any, in plaintext.
  private let makeJobs: @Sendable (Bench, PictureKeys?) async throws -> any EncryptionJobs
  private let made = Held<[any EncryptionJobs]>()

  private static let figure = "cpu_us"
  private static let inFlight = 64

  /// From the submit of a job with an image of its own, which the server stores, to its result.
  static let fromSubmit = EncryptionRow(
    name: "encryption",
    sentence:
      "processors of server and worker for a job from its submit with a picture of 120 KB of its own to its result, in plaintext and encrypted, 64 in flight"
  ) { bench, keys in
    try await SubmittedJobs(
      bench, named: keys == nil ? "submitted_clear" : "submitted_encrypted",
      jobs: bench.size(4000, quick: 400),
      keys: keys)
  }

  /// From the claim of a job that waits, on one of a few images, to its result.
  static let fromClaim = EncryptionRow(
    name: "encryption-from-claim",
    sentence:
      "processors of server and worker for a job from its claim to its result, 200 pictures of 120 KB in plaintext and encrypted, 64 in flight"
  ) { bench, keys in
    try await JobStage(
      bench, named: keys == nil ? "encryption_clear" : "encryption_encrypted",
      jobs: bench.size(20_000, quick: 400),
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
    let encrypted = try await makeJobs(bench, try PictureKeys())
    made.put([clear, encrypted])
    let before = Held<Sample>()
    return [
      Contender("in plaintext") { bench in
        let sample = try await Self.run(clear, bench)
        before.put(sample)
        return sample
      },
      Contender("encrypted") { bench in
        var sample = try await Self.run(encrypted, bench)
        if let clear = before.take() { Self.compare(&sample, with: clear) }
        return sample
      },
    ]
  }

  func clean(_ bench: Bench) async {
    for jobs in made.take() ?? [] { await jobs.end() }
  }

  private static func run(_ jobs: any EncryptionJobs, _ bench: Bench) async throws -> Sample {
    var sample = try await jobs.run(bench, inFlight: inFlight)
    let seconds = (sample.workerSeconds ?? 0) + (sample.serverSeconds ?? 0)
    sample.further[figure] = seconds * 1_000_000 / sample.amount
    return sample
  }

  /// Adds what a run on encrypted images took more than the one in plaintext before it.
  private static func compare(_ sample: inout Sample, with clear: Sample) {
    if let cost = sample.further[figure], let before = clear.further[figure], before > 0 {
      sample.further["more_percent"] = (cost / before - 1) * 100
    }
    if let cost = sample.further["submitter_cpu_us"], let before = clear.further["submitter_cpu_us"] {
      sample.further["more_of_submitter_us"] = cost - before
    }
  }
}
