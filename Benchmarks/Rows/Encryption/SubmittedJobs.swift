import BenchmarkKit
import PostgreSQL

/// Jobs that are submitted with an image of their own each, and run by a worker when all of them wait.
final class SubmittedJobs: EncryptionJobs {
  private let jobs: Int
  private let endpoint: EndpointProcess
  /// Users, and small images that nobody uses.
  private let template: BenchmarkDatabase
  /// Under what the submitter encrypts; nil for images in plaintext.
  private let keys: PictureKeys?

  /// Jobs in a call: some 8 MB of images, as much as a submitter sends at once.
  private static let batch = 64

  /// Makes what they need; untimed.
  init(_ bench: Bench, named name: String, jobs: Int, keys: PictureKeys?) async throws {
    self.jobs = jobs
    self.keys = keys
    template = try await Enqueue.template(bench, named: name)
    endpoint = try await EndpointProcess(bench.settings)
  }

  /// Submits the jobs and lets one worker run them.
  ///
  /// The server is metered in both, and its figures are the sums. Of the clients it is the worker whose processors and
  /// memory are told: the submitter's processors are a figure of their own, and contain the drawing of the pictures. The
  /// time is that of both, as each tells it of itself.
  func run(_ bench: Bench, inFlight: Int) async throws -> Sample {
    try await bench.withDatabase(named: "\(template.name)_run", from: template) { database in
      try await bench.cluster.settle(database)
      let submit = try await bench.drive(
        [
          "enqueue", "--database", database.conninfo, "--jobs", "\(jobs)", "--batch", "\(Self.batch)",
          "--bytes", "\(QueueFixture.usualBytes)",
        ] + PictureKeys.arguments(keys))
      var sample = try await WorkerDrain.run(
        bench, database, endpoint: endpoint, jobs: jobs, inFlight: inFlight, keys: keys)
      try await check(database)
      let perJob = 1_000_000 / Double(jobs)
      sample.seconds += submit.seconds
      sample.serverSeconds = (sample.serverSeconds ?? 0) + (submit.serverSeconds ?? 0)
      sample.further["wal_bytes_per_job", default: 0] += submit.further["wal_bytes_per_job"] ?? 0
      sample.further["server_for_submit_us"] = (submit.serverSeconds ?? 0) * perJob
      sample.further["submitter_cpu_us"] = (submit.workerSeconds ?? 0) * perJob
      return sample
    }
  }

  func end() async { await endpoint.stop() }

  /// Whether each job has an image of its own, and as it was to be.
  private func check(_ database: BenchmarkDatabase) async throws {
    let counts = try await database.pool.query(
      """
      SELECT count(*), count(k.encrypted_by)
      FROM analysis.image k WHERE EXISTS (SELECT FROM analysis.job j WHERE j.shard = k.shard AND j.image_id = k.id)
      """
    ).single()
    let (images, encrypted) = (try counts.int(0), try counts.int(1))
    guard images == jobs, encrypted == (keys == nil ? 0 : jobs) else {
      throw BenchmarkError("\(jobs) jobs have \(images) images, of which \(encrypted) are encrypted.")
    }
  }
}
