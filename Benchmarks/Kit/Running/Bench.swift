public import EventLoop

/// What a row has to work with.
public struct Bench: Sendable {
  /// The PostgreSQL cluster, which all rows share.
  public let cluster: BenchmarkCluster
  /// What the benchmarks were told.
  public let settings: BenchmarkSettings
  /// For connections of the benchmarks' own process.
  public let loop: EventLoop
  /// Takes a line for whoever watches.
  public let say: @Sendable (String) -> Void

  /// Everything a row needs.
  public init(
    cluster: BenchmarkCluster, settings: BenchmarkSettings, loop: EventLoop,
    say: @escaping @Sendable (String) -> Void
  ) {
    self.cluster = cluster
    self.settings = settings
    self.loop = loop
    self.say = say
  }

  /// A size: the full one, or the tiny one of a quick run.
  public func size(_ full: Int, quick: Int) -> Int { settings.isQuick ? quick : full }

  /// The size of a row that takes long: what the settings say, else as ``size(_:quick:)``.
  public func givenSize(_ full: Int, quick: Int) -> Int { settings.size ?? size(full, quick: quick) }

  /// Gives `body` a database that is dropped after it.
  ///
  /// - Parameter original: What it is a copy of; of the queue's empty schema when nil.
  public func withDatabase<R>(
    named name: String, from original: BenchmarkDatabase? = nil,
    _ body: (BenchmarkDatabase) async throws -> R
  ) async throws -> R {
    try await lending(try await cluster.freshDatabase(named: name, from: original), body)
  }

  /// Gives `body` an empty database, without the queue's schema, that is dropped after it.
  public func withEmptyDatabase<R>(
    named name: String, _ body: (BenchmarkDatabase) async throws -> R
  ) async throws -> R {
    try await lending(try await cluster.emptyDatabase(named: name), body)
  }

  private func lending<R>(
    _ database: BenchmarkDatabase, _ body: (BenchmarkDatabase) async throws -> R
  ) async throws -> R {
    let outcome: Result<R, any Error>
    do { outcome = .success(try await body(database)) } catch { outcome = .failure(error) }
    try await cluster.drop(database)
    return try outcome.get()
  }

  /// Runs a program that ends with one line of JSON on its standard output (see ``ProgramReport``), metering the
  /// server meanwhile.
  ///
  /// - Returns: A sample whose time, processors and memory are those that the program tells of itself: it begins
  ///   to count when it is ready. Its further figures have `wal_bytes_per_job` in them.
  public func measure(
    _ path: String, _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> Sample {
    let (ended, meter) = try await cluster.metered {
      try await MeasuredProcess.run(path, arguments, environment: environment)
    }
    let report = try ProgramReport(output: ended.output)
    return Sample(
      amount: report.amount, seconds: report.seconds, workerSeconds: report.workerSeconds,
      serverSeconds: meter.serverSeconds, peakMemory: report.peakMemory ?? ended.usage.peakMemory,
      further: report.further.merging(["wal_bytes_per_job": meter.logBytes / max(report.amount, 1)]) {
        own, _ in own
      }, version: report.version)
  }

  /// Runs this program again as one that does one piece of work (`benchmarks drive …`), so that what the work uses
  /// is told apart from what the benchmarks use.
  public func drive(_ arguments: [String]) async throws -> Sample {
    try await measure(settings.program("benchmarks"), ["drive"] + arguments)
  }
}
