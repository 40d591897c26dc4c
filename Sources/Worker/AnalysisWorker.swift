public import Endpoint
public import EventLoop
internal import PostgreSQL
internal import Queue
public import Support

/// A worker process: claims jobs, calls the endpoint for each, stores what comes of it.
///
/// Its loops are child tasks of `run`, all on one event loop: claiming, reading images (two connections), one task for
/// each call that may be in flight, storing, heartbeats, housekeeping and listening.
public struct AnalysisWorker: Sendable {
  let context: WorkerContext
  /// What its metrics show.
  public let monitor: WorkerMonitor

  /// A worker that has not begun.
  ///
  /// - Parameters:
  ///   - clients: The endpoint of each type; types without one are not taken on.
  ///   - loop: Where its tasks run. The transfers of the calls run on the clients' own loop.
  ///   - user: The user of the operating system, for the audit; nil where it is not known.
  public init(
    _ configuration: WorkerConfiguration, clients: [AnalysisKind: ModelClient], loop: EventLoop, log: Log,
    counters: Counters, user: String? = nil, host: String, processID: Int32, version: String,
    failpoints: Failpoints = .none
  ) {
    var configuration = configuration
    configuration.kinds.removeAll { clients[$0] == nil }
    var generator = SystemRandomNumberGenerator()
    let metrics = WorkerMetrics(counters, version: version)
    let databases = WorkerDatabases(metrics.watching(configuration.database), loop: loop)
    context = WorkerContext(
      configuration: configuration, clients: clients,
      identity: WorkerIdentity(host: host, pid: processID, version: version, using: &generator),
      auditActor: AuditActor(user: user, host: host), loop: loop, log: log, metrics: metrics,
      failpoints: failpoints, databases: databases, outage: DatabaseOutage(loop: loop),
      ended: configuration.notifiesEnded ? databases.endedSender(log) : nil)
    monitor = WorkerMonitor(metrics)
  }

  /// Runs until told to stop or, draining, until nothing can run within the horizon.
  ///
  /// A cancellation of the calling task stops it at once, as the second request does.
  /// - Parameters:
  ///   - stops: An element asks for a stop within the grace time; a second one for a stop at once.
  ///   - ready: Called once when the database has answered and jobs are being claimed.
  /// - Returns: What was done, and what was left.
  /// - Throws: `WorkerError` when the schema does not fit this program or, draining, when the database
  ///   cannot be reached.
  public func run(
    stops: AsyncStream<Void>, ready: @escaping @Sendable () -> Void = {}
  ) async throws(WorkerError) -> WorkerSummary {
    guard !context.configuration.kinds.isEmpty else {
      throw WorkerError(
        "No endpoint is configured for any type of analysis. Give one with --endpoint.", kind: .configuration)
    }
    let requests = StopRequests(loop: context.loop)
    // Read from the first moment of the work to its last.
    let reading = Task(executorPreference: context.loop) { await requests.read(stops) }
    defer { reading.cancel() }
    do {
      let summary = try await withTaskExecutorPreference(context.loop) { try await run(requests, ready) }
      await context.databases.close()
      return summary
    } catch {
      await context.databases.close()
      throw error as? WorkerError ?? WorkerError("\(error)", kind: .unreachable)
    }
  }

  private func run(_ requests: StopRequests, _ ready: @Sendable () -> Void) async throws -> WorkerSummary {
    var context = context
    let configuration = context.configuration
    let startup = Startup(context: context)
    guard let found = try await requests.unlessStopped({ try await startup.find() }) else {
      context.log.notice("Stopped before the database had answered")
      var summary = WorkerSummary()
      if configuration.drainHorizon != nil {
        summary.left = ["the worker was stopped before the database had answered"]
        summary.isParked = true
      }
      return summary
    }
    context.shards = found.shards
    let pipeline = Pipeline(context)
    monitor.watch(pipeline)
    await pipeline.obey(found.pauses)
    await pipeline.share(found.shares)
    await pipeline.with { $0.calls.follow(found.imageRules) }
    let keys = KeyCache(configuration.imageKeys, loop: context.loop, log: context.log)
    await keys.report()
    ready()
    context.log.notice(
      "The worker runs",
      [
        "worker": .int(found.number),
        "types": .string(configuration.kinds.map(\.rawValue).joined(separator: ",")),
        "shards": .int(Int64(context.shards.count)),
        "concurrency": .int(Int64(configuration.concurrency)),
      ])
    let opener = ImageOpener(
      keys: keys, decoders: configuration.imageDecoders, requiresEncryption: configuration.requiresEncryption)
    return try await WorkerRun(context: context, pipeline: pipeline, opener: opener).run(requests)
  }
}

/// Why a worker could not run or ended otherwise than asked.
public struct WorkerError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it is; it decides the exit code.
  public enum Kind: Sendable {
    /// The database does not answer, or its schema does not fit this program.
    case unreachable
    /// The database role may not do what a worker does.
    case permission
    /// The worker was told something that cannot be.
    case configuration
    case fault
  }

  /// What happened and what to do next.
  public let description: String
  /// What kind of failure it is.
  public let kind: Kind

  init(_ description: String, kind: Kind) {
    self.description = description
    self.kind = kind
  }
}
