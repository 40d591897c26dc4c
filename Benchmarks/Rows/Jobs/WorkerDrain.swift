import BenchmarkKit

/// One real `analysis-worker` that is to empty a queue and end, at its default settings but for the calls in flight.
enum WorkerDrain {
  /// Starts it.
  static func start(
    _ bench: Bench, _ database: BenchmarkDatabase, endpoint: EndpointProcess, inFlight: Int,
    keys: PictureKeys? = nil, store: [String] = []
  ) throws -> MeasuredProcess {
    try MeasuredProcess(
      bench.settings.program("analysis-worker"),
      [
        "--drain", "--drain-horizon", "0s", "--database", database.conninfo, "--concurrency", "\(inFlight)",
      ] + endpoint.workerOptions + PictureKeys.arguments(keys) + store)
  }

  /// Lets one run all the jobs of a database.
  ///
  /// The time is that of ``ResultSpan``, scaled to all the jobs. Processors and memory are those of the whole
  /// process, its start and its end included.
  static func run(
    _ bench: Bench, _ database: BenchmarkDatabase, endpoint: EndpointProcess, jobs: Int, inFlight: Int,
    keys: PictureKeys?, store: [String] = [], budget: ProcessorBudget? = nil
  ) async throws -> Sample {
    let endpointBefore = endpoint.seconds
    let ((ended, meter), transactions) = try await bench.cluster.countingTransactions(in: database) {
      try await bench.cluster.metered {
        let worker = try start(
          bench, database, endpoint: endpoint, inFlight: inFlight, keys: keys, store: store)
        try budget?.hold(worker)
        return try await worker.succeeded()
      }
    }
    let endpointSeconds = endpoint.seconds - endpointBefore
    let span = try await ResultSpan.read(database.pool, expected: jobs)
    return Sample(
      amount: Double(jobs), seconds: span.seconds * Double(jobs) / Double(span.jobs),
      workerSeconds: ended.usage.seconds, serverSeconds: meter.serverSeconds,
      peakMemory: ended.usage.peakMemory,
      further: [
        "endpoint_cpu_us": endpointSeconds * 1_000_000 / Double(jobs),
        "wal_bytes_per_job": meter.logBytes / Double(jobs),
        "transactions_per_job": transactions / Double(jobs),
      ])
  }
}
