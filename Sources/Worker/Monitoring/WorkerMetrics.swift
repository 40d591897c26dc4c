internal import PostgreSQL
internal import Queue
internal import Support

/// What a worker counts: each once, with its name in the log and the report, and the metric as which `/metrics` shows
/// it. Whoever adds one writes it here, in a property and a line of `init`, and gives its metric a row in the documents.
struct WorkerMetrics: Sendable {
  let claimed: Counter
  let completed: Counter
  let retried: Counter
  let dead: Counter
  let released: Counter
  let stale: Counter
  /// Jobs whose outcome the database could not record; their leases run out.
  let unrecorded: Counter
  let calls: Counter
  let answers: LabelledCounter
  let claimDuration: Histogram
  let storeDuration: Histogram
  let inFlight: Gauge
  /// Endpoints that are not called at present, or only by a probe.
  let endpointsShut: Gauge
  let waiting: Gauge
  let rescued: Counter
  let leasesLost: Counter
  let imagesRefused: LabelledCounter
  /// Attempts that were put off since the key of their image was not here.
  let imagesLocked: Counter
  /// Images that were changed since they were encrypted.
  let imagesTampered: Counter
  /// Images that were asked of the object store a second time, since they were late.
  let imageHedges: Counter
  let deliveries: LabelledCounter
  let databaseErrors: Counter
  let connects: Counter
  let connectFailures: Counter
  /// 0 before the first.
  let lastSuccess: Gauge

  private typealias Reading = @Sendable ([WorkerReport.Endpoint]) -> MetricFamily

  private let counters: Counters
  /// What `/metrics` shows, in this order.
  private let shown: [Reading]
  private let inReport: [String: Counter]

  init(_ counters: Counters, version: String) {
    var shown: [Reading] = []
    var inReport: [String: Counter] = [:]

    func show(
      _ name: String, _ kind: MetricDefinition.Kind, labels: [String] = [], _ help: String,
      _ family: @escaping @Sendable (MetricDefinition, [WorkerReport.Endpoint]) -> MetricFamily
    ) {
      let definition = MetricDefinition(name, kind, labels: labels, help: help)
      shown.append { family(definition, $0) }
    }
    func counter(
      _ name: String, isReported: Bool = true, as metric: String? = nil, _ help: String = ""
    ) -> Counter {
      let counter = counters.counter(name)
      if isReported { inReport[name] = counter }
      if let metric { show(metric, .counter, help) { metric, _ in metric.value(counter.value) } }
      return counter
    }
    func labelled(_ name: String, by label: String, as metric: String, _ help: String) -> LabelledCounter {
      let counter = counters.labelled(name)
      show(metric, .counter, labels: [label], help) { metric, _ in metric.values(counter.values) }
      return counter
    }
    func histogram(_ name: String, as metric: String, _ help: String) -> Histogram {
      let histogram = counters.histogram(name)
      show(metric, .histogram, help) { metric, _ in
        MetricFamily(metric, [MetricSample([], histogram.reading)])
      }
      return histogram
    }
    func each(
      _ metric: String, _ help: String, _ value: @escaping @Sendable (WorkerReport.Endpoint) -> Int
    ) {
      show(metric, .gauge, labels: ["endpoint"], help) { metric, endpoints in
        MetricFamily(metric, endpoints.map { MetricSample([$0.name], Double(value($0))) })
      }
    }

    show("analysis_worker_info", .gauge, labels: ["version"], "Always 1; the label says which version runs") {
      metric, _ in MetricFamily(metric, [MetricSample([version], 1)])
    }
    claimed = counter(
      "jobs_claimed", isReported: false, as: "analysis_worker_claimed_jobs_total",
      "Jobs that this worker has claimed")
    completed = counter("jobs_completed")
    retried = counter("jobs_retried")
    dead = counter("jobs_dead")
    released = counter("jobs_released")
    stale = counter("outcomes_stale")
    unrecorded = counter("outcomes_unrecorded")
    show(
      "analysis_worker_attempts_total", .counter, labels: ["outcome"],
      "Attempts by what they came to; a stale one came after its lease had gone and stored nothing"
    ) { [completed, retried, dead, released, stale, unrecorded] metric, _ in
      metric.values([
        "completed": completed.value, "retried": retried.value, "dead": dead.value,
        "released": released.value, "stale": stale.value, "unrecorded": unrecorded.value,
      ])
    }
    calls = counter(
      "endpoint_calls", as: "analysis_worker_calls_total",
      "Requests for an analysis that were sent to endpoints")
    answers = labelled(
      "endpoint_answers", by: "status", as: "analysis_worker_answers_total",
      "Ended calls by the HTTP status of the answer, none where no answer came")
    show(
      "analysis_worker_call_duration_seconds", .histogram, labels: ["endpoint"],
      "Time from the beginning of a call to its outcome"
    ) { metric, endpoints in
      MetricFamily(
        metric,
        endpoints.map { MetricSample([$0.name], Self.callDuration(of: $0.name, in: counters).reading) })
    }
    claimDuration = histogram(
      "claim_duration", as: "analysis_worker_claim_duration_seconds",
      "Time that a claim took at the database")
    storeDuration = histogram(
      "store_duration", as: "analysis_worker_store_duration_seconds",
      "Time that a statement which stores outcomes took at the database")
    inFlight = counters.gauge("calls_in_flight")
    each("analysis_worker_calls_in_flight", "Calls that are under way") { $0.inFlight }
    each("analysis_worker_call_window", "How many calls may be under way at present") { $0.window }
    endpointsShut = counters.gauge("endpoints_shut")
    each(
      "analysis_worker_breaker_open", "1 while this worker leaves the endpoint alone after failures, else 0"
    ) { $0.isLeftAlone ? 1 : 0 }
    let waiting = counters.gauge("jobs_waiting_here")
    self.waiting = waiting
    show(
      "analysis_worker_jobs_waiting_here", .gauge, "Claimed jobs that have not been called for"
    ) { metric, _ in metric.value(waiting.value) }
    rescued = counter(
      "jobs_rescued", as: "analysis_worker_rescued_jobs_total",
      "Jobs of lost workers that this worker took back")
    leasesLost = counter(
      "leases_lost", as: "analysis_worker_lost_leases_total", "Leases that this worker has lost")
    imagesRefused = labelled(
      "images_refused", by: "reason", as: "analysis_worker_images_refused_total",
      "Images that were not sent, by the reason")
    imagesLocked = counter("images_without_key")
    imagesTampered = counter("images_tampered")
    imageHedges = counter(
      "image_hedges", as: "analysis_worker_image_hedges_total",
      "Images that were asked of the object store a second time, since they were late")
    deliveries = labelled(
      "webhook_deliveries", by: "outcome", as: "analysis_worker_webhook_deliveries_total",
      "Events that this worker has sent to webhooks, by outcome")
    databaseErrors = counter(
      "database_errors", as: "analysis_worker_database_errors_total",
      "Statements that failed and were tried again")
    connects = counter(
      "database_connects", as: "analysis_worker_database_connects_total",
      "Attempts to connect to the database")
    connectFailures = counter(
      "database_connect_failures", as: "analysis_worker_database_connect_failures_total",
      "Attempts to connect to the database that failed")
    let lastSuccess = counters.gauge("last_success")
    self.lastSuccess = lastSuccess
    show(
      "analysis_worker_last_success_timestamp_seconds", .gauge,
      "When this worker stored a result last, in seconds since 1970"
    ) { metric, _ in
      let at = lastSuccess.value
      return metric.value(at == 0 ? nil : Double(at))
    }
    self.counters = counters
    self.shown = shown
    self.inReport = inReport
  }

  /// All that `/metrics` may show, in the order in which it is shown.
  static var all: [MetricDefinition] {
    WorkerMetrics(Counters(), version: "").families([]).map(\.definition)
  }

  /// What `/metrics` shows now.
  func families(_ endpoints: [WorkerReport.Endpoint]) -> [MetricFamily] { shown.map { $0(endpoints) } }

  /// What operators are shown in the worker's report, by name.
  var reported: [String: Int] { inReport.mapValues(\.value) }

  /// Each call of an endpoint, from its beginning to its outcome.
  func callDuration(of endpoint: String) -> Histogram { Self.callDuration(of: endpoint, in: counters) }

  private static func callDuration(of endpoint: String, in counters: Counters) -> Histogram {
    counters.histogram("call_duration of \(endpoint)")
  }

  /// The configuration by which attempts to connect are counted.
  func watching(_ database: ConnectionConfiguration) -> ConnectionConfiguration {
    var database = database
    database.onConnect = { [connects, connectFailures] failure in
      connects.add()
      if failure != nil { connectFailures.add() }
    }
    return database
  }
}
