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
  let configuration: WorkerConfiguration
  let clients: [AnalysisKind: ModelClient]
  let loop: EventLoop
  let log: Log
  let meters: Meters
  /// What its metrics show.
  public let monitor: WorkerMonitor
  let identity: WorkerIdentity
  /// Under whose account it runs, for the audit.
  let actor: AuditActor
  let failpoints: Failpoints
  /// The jobs that have ended, where somebody is to be notified.
  let ended: UnsentEnds?
  /// Who is logged in at the database, once that is known.
  let login = LoginCell()

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
    self.configuration = configuration
    self.clients = clients
    self.loop = loop
    self.log = log
    meters = Meters(counters)
    monitor = WorkerMonitor(meters, version: version)
    self.failpoints = failpoints
    ended = configuration.notifiesEnded ? UnsentEnds(loop: loop) : nil
    var generator = SystemRandomNumberGenerator()
    identity = WorkerIdentity(host: host, pid: processID, version: version, using: &generator)
    actor = AuditActor(user: user, host: host)
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
    guard !configuration.kinds.isEmpty else {
      throw WorkerError(
        "No endpoint is configured for any type of analysis. Give one with --endpoint.", kind: .configuration)
    }
    let databases = WorkerDatabases(configuration, loop: loop, meters: meters)
    do {
      let summary = try await withTaskExecutorPreference(loop) {
        try await heeding(stops) { requests in
          try await run(databases, requests, ready)
        }
      }
      await databases.close()
      return summary
    } catch {
      await databases.close()
      throw error as? WorkerError ?? WorkerError("\(error)", kind: .unreachable)
    }
  }

  /// Reads the requests to stop beside the work, from its first moment to its last.
  private func heeding(
    _ stops: AsyncStream<Void>, _ work: @escaping @Sendable (StopRequests) async throws -> WorkerSummary
  ) async throws -> WorkerSummary {
    let requests = StopRequests(loop: loop)
    return try await withThrowingTaskGroup(of: WorkerSummary?.self) { group in
      group.addTask {
        await requests.read(stops)
        return nil
      }
      group.addTask { try await work(requests) }
      defer { group.cancelAll() }
      while let ended = try await group.next() {
        if let summary = ended { return summary }
      }
      return WorkerSummary()
    }
  }

  private func run(
    _ databases: WorkerDatabases, _ requests: StopRequests, _ ready: @Sendable () -> Void
  ) async throws -> WorkerSummary {
    let startup = Startup(worker: self, databases: databases)
    guard let found = try await requests.unlessStopped({ try await startup.find() }) else {
      log.notice("Stopped before the database had answered")
      var summary = WorkerSummary()
      if configuration.drainHorizon != nil {
        summary.left = ["the worker was stopped before the database had answered"]
        summary.isParked = true
      }
      return summary
    }
    let shards = found.shards
    let pipeline = Pipeline(
      configuration, identity: identity, shards: shards, clients: clients, loop: loop, log: log,
      meters: meters)
    monitor.watch(pipeline)
    await pipeline.obey(found.pauses)
    await pipeline.share(found.shares)
    await pipeline.follow(found.imageRules)
    let keys = KeyCache(configuration.imageKeys, loop: loop, log: log)
    await keys.tell()
    ready()
    log.notice(
      "The worker runs",
      [
        "worker": .int(found.number),
        "types": .string(configuration.kinds.map(\.rawValue).joined(separator: ",")),
        "shards": .int(Int64(shards.count)),
        "concurrency": .int(Int64(configuration.concurrency)),
      ])
    return try await WorkerRun(
      worker: self, pipeline: pipeline,
      opener: ImageOpener(
        keys: keys, decoders: configuration.imageDecoders,
        requiresEncryption: configuration.requiresEncryption),
      databases: databases, shards: shards
    ).run(requests)
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
    /// Anything else.
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
