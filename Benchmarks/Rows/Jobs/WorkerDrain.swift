import BenchmarkKit

/// One real `analysis-worker` that is to empty a queue and end, at its default settings but for the calls in flight.
enum WorkerDrain {
  /// Starts it.
  static func start(
    _ bench: Bench, _ database: BenchmarkDatabase, endpoint: String, inFlight: Int, keys: PictureKeys? = nil
  ) throws -> MeasuredProcess {
    try MeasuredProcess(
      bench.settings.program("analysis-worker"),
      [
        "--drain", "--drain-horizon", "0s", "--database", database.conninfo, "--endpoint", endpoint,
        "--concurrency", "\(inFlight)",
      ] + PictureKeys.option(keys))
  }
}
