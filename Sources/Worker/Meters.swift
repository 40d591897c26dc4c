internal import PostgreSQL
internal import Support

/// What a worker counts, under the names that its log and its metrics use.
struct Meters: Sendable {
  let claimed: Counter
  let completed: Counter
  let retried: Counter
  let dead: Counter
  let released: Counter
  /// Outcomes that came after the lease had gone or the job had been cancelled, and stored nothing.
  let stale: Counter
  let calls: Counter
  let leasesLost: Counter
  let rescued: Counter
  let databaseErrors: Counter
  /// Attempts to connect to the database, and how many of them failed.
  let connects: Counter
  let connectFailures: Counter
  /// Jobs whose outcome the database could not record; their leases run out.
  let unrecorded: Counter
  /// Attempts that were put off since the key of their image was not here.
  let imagesLocked: Counter
  /// Images that were changed since they were encrypted.
  let imagesTampered: Counter
  /// Images that were not sent, by the reason.
  let imagesRefused: LabelledCounter
  /// Ended calls, by the HTTP status of their answer; `none` where no answer came.
  let answers: LabelledCounter
  /// Each claim, from its sending to its answer.
  let claimDuration: Histogram
  /// Each statement that stores outcomes, likewise.
  let storeDuration: Histogram
  /// When a result was stored last, in seconds since 1970; 0 before the first.
  let lastSuccess: Gauge
  let inFlight: Gauge
  let waiting: Gauge
  /// Events that webhooks were sent, by outcome: `delivered`, `failed` or `gone`.
  let deliveries: LabelledCounter
  /// Endpoints that are not called at present, or only by a probe.
  let endpointsShut: Gauge
  private let counters: Counters

  init(_ counters: Counters) {
    self.counters = counters
    claimed = counters.counter("jobs_claimed")
    completed = counters.counter("jobs_completed")
    retried = counters.counter("jobs_retried")
    dead = counters.counter("jobs_dead")
    released = counters.counter("jobs_released")
    stale = counters.counter("outcomes_stale")
    calls = counters.counter("endpoint_calls")
    leasesLost = counters.counter("leases_lost")
    rescued = counters.counter("jobs_rescued")
    databaseErrors = counters.counter("database_errors")
    connects = counters.counter("database_connects")
    connectFailures = counters.counter("database_connect_failures")
    unrecorded = counters.counter("outcomes_unrecorded")
    imagesLocked = counters.counter("images_without_key")
    imagesTampered = counters.counter("images_tampered")
    imagesRefused = counters.labelled("images_refused")
    answers = counters.labelled("endpoint_answers")
    claimDuration = counters.histogram("claim_duration")
    storeDuration = counters.histogram("store_duration")
    lastSuccess = counters.gauge("last_success")
    inFlight = counters.gauge("calls_in_flight")
    waiting = counters.gauge("jobs_waiting_here")
    deliveries = counters.labelled("webhook_deliveries")
    endpointsShut = counters.gauge("endpoints_shut")
  }

  /// Each call of an endpoint, from its beginning to its outcome.
  func callDuration(of endpoint: String) -> Histogram {
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

  /// What operators are told, by name.
  var told: [String: Int] {
    let told = [
      ("jobs_completed", completed), ("jobs_retried", retried), ("jobs_dead", dead),
      ("jobs_rescued", rescued), ("jobs_released", released), ("outcomes_stale", stale),
      ("outcomes_unrecorded", unrecorded), ("images_without_key", imagesLocked),
      ("images_tampered", imagesTampered), ("leases_lost", leasesLost), ("endpoint_calls", calls),
      ("database_errors", databaseErrors), ("database_connects", connects),
      ("database_connect_failures", connectFailures),
    ]
    return Dictionary(uniqueKeysWithValues: told.map { ($0.0, $0.1.value) })
  }
}
