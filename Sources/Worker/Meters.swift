internal import Operations

/// What a worker counts, under the names that its log and its metrics use.
struct Meters: Sendable {
  let claimed: Counter
  let completed: Counter
  let retried: Counter
  let dead: Counter
  let handedBack: Counter
  /// Outcomes that came after the lease had gone or the job had been cancelled, and stored nothing.
  let stale: Counter
  let calls: Counter
  let leasesLost: Counter
  let rescued: Counter
  let databaseErrors: Counter
  let inFlight: Gauge
  let waiting: Gauge

  init(_ counters: Counters) {
    claimed = counters.counter("jobs_claimed")
    completed = counters.counter("jobs_completed")
    retried = counters.counter("jobs_retried")
    dead = counters.counter("jobs_dead")
    handedBack = counters.counter("jobs_handed_back")
    stale = counters.counter("outcomes_stale")
    calls = counters.counter("endpoint_calls")
    leasesLost = counters.counter("leases_lost")
    rescued = counters.counter("jobs_rescued")
    databaseErrors = counters.counter("database_errors")
    inFlight = counters.gauge("calls_in_flight")
    waiting = counters.gauge("jobs_waiting_here")
  }
}
