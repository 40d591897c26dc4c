public import EventLoop
public import HTTPServing
internal import PostgreSQL
internal import Queue
public import Support
internal import Synchronization

/// The way from an app into the queue: an HTTP server that speaks to apps as the analysis endpoint does, and to the queue
/// as a login that may do nothing but for the user whose token it passes on.
public final class Gateway: Sendable {
  let configuration: GatewayConfiguration
  let database: ConnectionPool
  let users: KnownUsers
  let rate: RateLimit<UserKey>
  /// Readings that the audit records.
  let readings: RateLimit<UserKey>
  /// Photos that come in or are being stored.
  let uploads = OpenByUser(atMost: 8)
  /// Photos that are being read, or sent to apps.
  let pictures: OpenByUser
  /// Apps that listen to events.
  let listeners = OpenByUser(atMost: 20)
  let waits: AnalysisWaits
  let intake: PhotoIntake
  let workers: HintSender<Int16>
  let meters: GatewayMeters
  let log: Log
  /// Those who listen to what becomes of a job, or to all that happens to their user.
  let events: HTTPEvents
  let userEvents: UserEvents
  private let rules: SentImageRules
  let presence: DatabasePresence
  private let draining = Atomic(false)
  private let version: String

  /// A gateway; nothing is connected before ``begin()``.
  public init(_ configuration: GatewayConfiguration, loop: EventLoop, log: Log, version: String) {
    let meters = GatewayMeters()
    var connecting = configuration.database
    // A call that was cancelled since the database does not answer waits no longer for it.
    connecting.cancelGrace = .milliseconds(250)
    connecting.onConnect = { error in
      meters.connects.add()
      if error != nil { meters.connectFailures.add() }
    }
    let database = ConnectionPool(connecting, on: loop, size: configuration.connections, reconnect: .retry)
    self.configuration = configuration
    self.database = database
    self.log = log
    self.meters = meters
    self.version = version
    presence = DatabasePresence(connecting, on: loop, log)
    users = KnownUsers(database, life: configuration.userLife)
    rate = RateLimit(eachMinute: configuration.uploadsEachMinute)
    readings = RateLimit(eachMinute: configuration.readingsEachMinute)
    pictures = OpenByUser(atMost: 4, inAll: max(4, configuration.photoMemory / 10_000_000))
    events = HTTPEvents(atMost: max(1000, configuration.clients / 2))
    userEvents = UserEvents(database, events, log, meters, lookEvery: configuration.eventsEvery)
    waits = AnalysisWaits(database, log, meters, lookEvery: configuration.lookEvery)
    // Shards whose jobs were submitted too soon after others for their own transaction to wake a worker. One that is not
    // woken is no matter: workers look by themselves.
    workers = HintSender(on: database.loop) { shards in
      for shard in Set(shards).sorted() {
        try? await WorkerStatements.notifyWorkers(shard: shard).run(on: database)
      }
    }
    rules = SentImageRules(store: configuration.imageStore, hasKeys: configuration.keys != nil)
    intake = PhotoIntake(
      database: database, limits: configuration.images, keys: configuration.keys, rules: rules,
      workers: workers, log: log)
  }

  /// Asks the database for what it has to know before it serves.
  ///
  /// - Throws: `JobQueueError`.
  public func begin() async throws {
    try await rules.read(database)
  }

  /// What goes on beside the requests, until the task is cancelled.
  public func run() async {
    let (database, rules, workers, waits, userEvents, listened) = (
      database, rules, workers, waits, userEvents, configuration.database
    )
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await workers.run() }
      group.addTask { await rules.keep(database) }
      if configuration.listens { group.addTask { await waits.listen(listened, hinting: userEvents) } }
    }
  }

  /// Begins to serve apps.
  ///
  /// - Parameter security: With which TLS is spoken; nil for plain HTTP.
  /// - Throws: `HTTPServingError` where the address cannot be listened on.
  public func serve(
    at address: ListenAddress, security: HTTPDaemon.TransportSecurity? = nil
  ) throws(HTTPServingError) -> HTTPServer {
    try HTTPServer(
      address, routes, bounds: bounds, security: security, crossOrigin: crossOrigin, events: events,
      refuse: { APIFailure($0).answer }, answered: { [meters] in meters.answers.add(String($0)) })
  }

  private var crossOrigin: CrossOrigin {
    CrossOrigin(
      origins: Set(configuration.origins),
      requestHeaders: ["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
      answerHeaders: [
        "Location", "Retry-After", LimitHeaders.limit, LimitHeaders.remaining, LimitHeaders.reached,
      ])
  }

  private var bounds: HTTPServer.Bounds {
    var bounds = HTTPServer.Bounds()
    bounds.daemon.threads = HTTPDaemon.Bounds.processors
    bounds.daemon.connections = configuration.clients
    bounds.daemon.surplus = .isRefused
    bounds.daemon.leastPace = configuration.leastPace
    bounds.daemon.idleSeconds = 60
    // A read of a photo of 120 kB takes few turns with it.
    bounds.daemon.connectionBytes = 64 << 10
    bounds.answer = configuration.deadline + .seconds(30)
    bounds.uploads = configuration.photoMemory
    bounds.endsWithClient = true
    return bounds
  }

  // MARK: Stopping

  /// From now on new requests are answered 503; what was accepted goes on.
  public func drain() {
    draining.store(true, ordering: .relaxed)
    events.close()
  }

  /// Whether it is to stop.
  var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// Those who still wait are told where to ask.
  public func endWaits() async { await waits.close() }

  /// Ends its connections to the database.
  public func close() async {
    await waits.close()
    await presence.close()
    await database.close()
    await configuration.imageStore?.close()
  }

  // MARK: Monitoring

  /// The metrics, as they are now.
  public func metrics() -> [MetricFamily] {
    GatewayMetrics.families(meters, listening: events.listeners, version: version)
  }

  /// Whether it can work: the database answers, and it is not to stop.
  public func readiness() async -> ServiceReadiness {
    let answers = await presence.answers()
    return ServiceReadiness(
      isReady: answers && !isDraining,
      [
        .init(name: "stage", value: .string(isDraining ? "draining" : "running")),
        .init(name: "database", value: .string(answers ? "answers" : "away")),
      ])
  }
}

/// What the gateway counts.
final class GatewayMeters: Sendable {
  let answers = LabelledCounter()
  let uploads = LabelledCounter()
  let uploadDuration = Histogram()
  let lookDuration = Histogram()
  let waiting = Gauge()
  let databaseErrors = Counter()
  let connects = Counter()
  let connectFailures = Counter()

  init() {}
}

/// The metrics of one gateway process, each defined once: `/metrics` shows them, the documents name them.
enum GatewayMetrics {
  static let info = MetricDefinition(
    "analysis_gateway_info", .gauge, labels: ["version"], help: "Always 1; the label says which version runs")
  static let answers = MetricDefinition(
    "analysis_gateway_answers_total", .counter, labels: ["status"],
    help: "Answers to apps by their HTTP status")
  static let uploads = MetricDefinition(
    "analysis_gateway_uploads_total", .counter, labels: ["outcome"],
    help: "Photos that apps have sent, by outcome")
  static let uploadDuration = MetricDefinition(
    "analysis_gateway_upload_duration_seconds", .histogram,
    help: "Time from a whole photo to its answer, for those that were queued")
  static let lookDuration = MetricDefinition(
    "analysis_gateway_look_duration_seconds", .histogram,
    help: "Time that it took at the database to ask what has ended of all that is waited for")
  static let waiting = MetricDefinition(
    "analysis_gateway_waiting_requests", .gauge, help: "Requests that wait for the end of a job")
  static let listeners = MetricDefinition(
    "analysis_gateway_listeners", .gauge, help: "Apps that listen to events")
  static let databaseErrors = MetricDefinition(
    "analysis_gateway_database_errors_total", .counter, help: "Calls of the database that failed")
  static let connects = MetricDefinition(
    "analysis_gateway_database_connects_total", .counter, help: "Attempts to connect to the database")
  static let connectFailures = MetricDefinition(
    "analysis_gateway_database_connect_failures_total", .counter,
    help: "Attempts to connect to the database that failed")

  /// All of them, in the order in which they are shown.
  static let all = [
    info, answers, uploads, uploadDuration, lookDuration, waiting, listeners, databaseErrors, connects,
    connectFailures,
  ]

  static func families(_ meters: GatewayMeters, listening: Int, version: String) -> [MetricFamily] {
    [
      MetricFamily(info, [MetricSample([version], 1)]),
      answers.values(meters.answers.values),
      uploads.values(meters.uploads.values),
      MetricFamily(uploadDuration, [MetricSample([], meters.uploadDuration.reading)]),
      MetricFamily(lookDuration, [MetricSample([], meters.lookDuration.reading)]),
      waiting.value(meters.waiting.value),
      listeners.value(listening),
      databaseErrors.value(meters.databaseErrors.value),
      connects.value(meters.connects.value),
      connectFailures.value(meters.connectFailures.value),
    ]
  }
}
