import BenchmarkKit

/// Whole jobs: submitted with an image of their own each, and run by a worker when all of them wait.
final class SubmittedJobs: EncryptionJobs {
  private let jobs: Int
  private let endpoint: EndpointProcess
  private let template: BenchmarkDatabase
  /// Under what the submitter encrypts; nil for images in the clear.
  private let keys: PictureKeys?

  /// Jobs in a call: some 8 MB of images, as much as a submitter sends at once.
  private static let batch = 64

  /// Makes what they need; untimed.
  init(_ bench: Bench, jobs: Int, keys: PictureKeys?) async throws {
    self.jobs = jobs
    self.keys = keys
    template = try await Enqueue.template(
      bench, named: keys == nil ? "whole_clear" : "whole_sealed")
    endpoint = try await EndpointProcess(bench.settings)
  }

  /// Submits the jobs and lets one worker run them.
  ///
  /// The time is that of both, without what lies between them. The server is metered in both; of the clients it is
  /// the worker whose processors and memory are told, and the submitter's processors are a figure of their own:
  /// they contain the drawing of the pictures.
  func drain(_ bench: Bench, inFlight: Int) async throws -> Sample {
    try await bench.withDatabase(named: "\(template.name)_run", from: template) { database in
      try await bench.cluster.settle(database)
      let submit = try await bench.drive(
        [
          "enqueue", "--database", database.conninfo, "--jobs", "\(jobs)", "--batch", "\(Self.batch)",
          "--bytes", "\(QueueFixture.usualBytes)",
        ] + PictureKeys.option(keys))
      let (ended, meter) = try await bench.cluster.metered {
        try await WorkerDrain.start(
          bench, database, endpoint: endpoint.url, inFlight: inFlight, keys: keys
        ).succeeded()
      }
      let span = try await ResultSpan.read(database.pool, expected: jobs)
      let perJob = 1_000_000 / Double(jobs)
      let submitServer = submit.serverSeconds ?? 0
      return Sample(
        amount: Double(jobs), seconds: submit.seconds + span.seconds * Double(jobs) / Double(span.jobs),
        workerSeconds: ended.usage.seconds, serverSeconds: submitServer + meter.serverSeconds,
        peakMemory: ended.usage.peakMemory,
        further: [
          "server_for_submit_us": submitServer * perJob,
          "submitter_cpu_us": (submit.workerSeconds ?? 0) * perJob,
        ])
    }
  }

  func end() async { await endpoint.stop() }
}
