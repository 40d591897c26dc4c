import BenchmarkKit
import TestSupport

/// What all who run whole jobs share: an endpoint, pictures, and a database in which the jobs wait, of which each
/// run gets a copy.
final class JobStage: Sendable {
  /// How many jobs wait.
  let jobs: Int
  /// The one that is called where a run names none.
  let endpoint: EndpointProcess
  /// The pictures that the jobs share: a disk would not hold one for each of a million, and all of them lie in the
  /// server's memory either way.
  private let pictures: [[UInt8]]
  private let template: BenchmarkDatabase
  private let rates = WorkerRates()
  /// Under what the pictures are encrypted; nil when they are in plaintext.
  private let keys: PictureKeys?

  /// Makes it; untimed.
  init(
    _ bench: Bench, named name: String, jobs: Int, pictures count: Int, delay: Duration = .zero,
    keys: PictureKeys? = nil, shards: Int = 1
  ) async throws {
    self.jobs = jobs
    self.keys = keys
    pictures = PictureBytes.pictures(count, bytes: QueueFixture.usualBytes)
    template = try await bench.cluster.freshDatabase(named: name)
    _ = try await QueueFixture.make(
      in: template, pictures: pictures, shards: shards, encrypting: keys?.encrypt)
    try await QueueFixture.fill(template, jobs: jobs)
    endpoint = try await EndpointProcess(bench.settings, delay: delay)
  }

  /// Ends the endpoint; the databases are the runner's to drop.
  func end() async { await endpoint.stop() }

  /// Gives `body` a database in which all the jobs wait, settled; not vacuumed, where it is to be as submits left it.
  func withJobs<R>(
    _ bench: Bench, vacuums: Bool = true, _ body: (BenchmarkDatabase) async throws -> R
  ) async throws -> R {
    try await bench.withDatabase(named: "\(template.name)_run", from: template) { database in
      try await bench.cluster.settle(database, vacuums: vacuums)
      return try await body(database)
    }
  }

  /// One worker runs all the jobs; see ``WorkerDrain``.
  ///
  /// - Parameter other: An endpoint in place of the stage's own.
  func run(
    _ bench: Bench, inFlight: Int, vacuums: Bool = true, at other: EndpointProcess? = nil
  ) async throws -> Sample {
    try await withJobs(bench, vacuums: vacuums) { database in
      let sample = try await WorkerDrain.run(
        bench, database, endpoint: other ?? endpoint, jobs: jobs, inFlight: inFlight, keys: keys)
      rates.note(sample.rate, inFlight: inFlight)
      return sample
    }
  }

  /// The endpoint alone: `wrk` posts the same pictures, nobody reads or stores anything.
  func uploads(_ bench: Bench, inFlight: Int, at other: EndpointProcess? = nil) async throws -> Sample {
    let endpoint = other ?? endpoint
    guard let program = HelperProgram.find("/usr/bin/wrk", "/usr/local/bin/wrk") else {
      throw BenchmarkError("wrk is missing; install the package wrk.")
    }
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let script = try UploadScript.write(pictures, to: folder.url)
    let endpointBefore = endpoint.seconds
    let ended = try await MeasuredProcess.run(
      program,
      [
        "--threads", "1", "--connections", "\(inFlight)", "--duration", "\(bench.size(5, quick: 1))s",
        "--timeout", "10s", "--script", script, endpoint.url,
      ])
    let endpointSeconds = endpoint.seconds - endpointBefore
    let uploads = try UploadReport(output: ended.output)
    var sample = Sample(
      amount: Double(uploads.uploads), seconds: uploads.seconds, workerSeconds: ended.usage.seconds,
      peakMemory: ended.usage.peakMemory,
      further: ["endpoint_cpu_us": endpointSeconds * 1_000_000 / Double(uploads.uploads)])
    sample.further["worker_percent"] = rates.percent(of: sample.rate, inFlight: inFlight)
    return sample
  }
}
