internal import Queue
internal import Support

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
