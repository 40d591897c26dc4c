internal import Queue
internal import Support

/// The metrics of one worker process, each defined once: `/metrics` shows them, the documents name them.
enum WorkerMetrics {
  static let info = MetricDefinition(
    "analysis_worker_info", .gauge, labels: ["version"], help: "Always 1; the label says which version runs")
  static let claimed = MetricDefinition(
    "analysis_worker_claimed_jobs_total", .counter, help: "Jobs that this worker has claimed")
  static let attempts = MetricDefinition(
    "analysis_worker_attempts_total", .counter, labels: ["outcome"],
    help: "Attempts by what they came to; a stale one came after its lease had gone and stored nothing")
  static let calls = MetricDefinition(
    "analysis_worker_calls_total", .counter, help: "Requests for an analysis that were sent to endpoints")
  static let answers = MetricDefinition(
    "analysis_worker_answers_total", .counter, labels: ["status"],
    help: "Ended calls by the HTTP status of the answer, none where no answer came")
  static let callDuration = MetricDefinition(
    "analysis_worker_call_duration_seconds", .histogram, labels: ["endpoint"],
    help: "Time from the beginning of a call to its outcome")
  static let claimDuration = MetricDefinition(
    "analysis_worker_claim_duration_seconds", .histogram, help: "Time that a claim took at the database")
  static let storeDuration = MetricDefinition(
    "analysis_worker_store_duration_seconds", .histogram,
    help: "Time that a statement which stores outcomes took at the database")
  static let callsInFlight = MetricDefinition(
    "analysis_worker_calls_in_flight", .gauge, labels: ["endpoint"], help: "Calls that are under way")
  static let window = MetricDefinition(
    "analysis_worker_call_window", .gauge, labels: ["endpoint"],
    help: "How many calls may be under way at present")
  static let breakerOpen = MetricDefinition(
    "analysis_worker_breaker_open", .gauge, labels: ["endpoint"],
    help: "1 while this worker leaves the endpoint alone after failures, else 0")
  static let waiting = MetricDefinition(
    "analysis_worker_jobs_waiting_here", .gauge, help: "Claimed jobs that have not been called for")
  static let rescued = MetricDefinition(
    "analysis_worker_rescued_jobs_total", .counter, help: "Jobs of lost workers that this worker took back")
  static let leasesLost = MetricDefinition(
    "analysis_worker_lost_leases_total", .counter, help: "Leases that this worker has lost")
  static let imagesRefused = MetricDefinition(
    "analysis_worker_images_refused_total", .counter, labels: ["reason"],
    help: "Images that were not sent, by the reason")
  static let deliveries = MetricDefinition(
    "analysis_worker_webhook_deliveries_total", .counter, labels: ["outcome"],
    help: "Events that this worker has sent to webhooks, by outcome")
  static let databaseErrors = MetricDefinition(
    "analysis_worker_database_errors_total", .counter, help: "Statements that failed and were tried again")
  static let connects = MetricDefinition(
    "analysis_worker_database_connects_total", .counter, help: "Attempts to connect to the database")
  static let connectFailures = MetricDefinition(
    "analysis_worker_database_connect_failures_total", .counter,
    help: "Attempts to connect to the database that failed")
  static let lastSuccess = MetricDefinition(
    "analysis_worker_last_success_timestamp_seconds", .gauge,
    help: "When this worker stored a result last, in seconds since 1970")

  /// All of them, in the order in which they are shown.
  static let all = [
    info, claimed, attempts, calls, answers, callDuration, claimDuration, storeDuration, callsInFlight,
    window, breakerOpen, waiting, rescued, leasesLost, imagesRefused, deliveries, databaseErrors,
    connects, connectFailures, lastSuccess,
  ]

  /// What one worker has to say.
  static func families(
    _ meters: Meters, version: String, endpoints: [WorkerReport.Endpoint]
  ) -> [MetricFamily] {
    func each(_ definition: MetricDefinition, _ value: (WorkerReport.Endpoint) -> Int) -> MetricFamily {
      MetricFamily(definition, endpoints.map { MetricSample([$0.name], Double(value($0))) })
    }
    let outcomes = [
      "completed": meters.completed, "retried": meters.retried, "dead": meters.dead,
      "released": meters.released, "stale": meters.stale, "unrecorded": meters.unrecorded,
    ]
    let lastSuccess = meters.lastSuccess.value
    return [
      MetricFamily(info, [MetricSample([version], 1)]), claimed.value(meters.claimed.value),
      attempts.values(outcomes.mapValues(\.value)), calls.value(meters.calls.value),
      answers.values(meters.answers.values),
      MetricFamily(
        callDuration, endpoints.map { MetricSample([$0.name], meters.callDuration(of: $0.name).reading) }),
      MetricFamily(claimDuration, [MetricSample([], meters.claimDuration.reading)]),
      MetricFamily(storeDuration, [MetricSample([], meters.storeDuration.reading)]),
      each(callsInFlight, \.inFlight), each(window, \.window),
      each(breakerOpen) { $0.isLeftAlone ? 1 : 0 }, waiting.value(meters.waiting.value),
      rescued.value(meters.rescued.value), leasesLost.value(meters.leasesLost.value),
      imagesRefused.values(meters.imagesRefused.values),
      deliveries.values(meters.deliveries.values), databaseErrors.value(meters.databaseErrors.value),
      connects.value(meters.connects.value), connectFailures.value(meters.connectFailures.value),
      self.lastSuccess.value(lastSuccess == 0 ? nil : Double(lastSuccess)),
    ]
  }
}
