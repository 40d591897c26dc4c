import Queue
import Support

/// The metrics of the queue, each defined once: `/metrics` of `serve` shows them, the documents name them.
enum QueueMetrics {
  static let databaseUp = MetricDefinition(
    "analysis_database_up", .gauge, help: "1 when the database answered the last question, else 0")
  static let state = MetricDefinition(
    "analysis_queue_state", .gauge, labels: ["state"],
    help: "1 for what the queue does: working, paused, no worker or endpoint shut; else 0")
  static let jobs = MetricDefinition(
    "analysis_jobs", .gauge, labels: ["state", "type", "priority"],
    help: "Jobs by state, and waiting and running ones by type and priority")
  static let jobsAreCapped = MetricDefinition(
    "analysis_jobs_are_capped", .gauge,
    help: "1 when counting has stopped at its bound, and there are more jobs than said")
  static let oldestWaiting = MetricDefinition(
    "analysis_oldest_waiting_seconds", .gauge, labels: ["type", "priority"],
    help: "For how long the first job of a lane has been waiting, 0 when none waits")
  static let pendingRefunds = MetricDefinition(
    "analysis_pending_refunds", .gauge, help: "Units of the monthly limits that are still to be given back")
  static let workers = MetricDefinition(
    "analysis_workers", .gauge, labels: ["state"], help: "Workers heard of in the last hour, by state")
  static let breakerOpen = MetricDefinition(
    "analysis_breaker_open", .gauge, labels: ["endpoint"],
    help: "How many live workers leave the endpoint alone after failures")
  static let pauses = MetricDefinition(
    "analysis_pauses", .gauge, help: "Pauses by operators that are in force")
  static let webhooksOff = MetricDefinition(
    "analysis_webhooks_off", .gauge, help: "Webhooks that are switched off, and receive nothing")
  static let deadJobs = MetricDefinition(
    "analysis_dead_jobs", .gauge, labels: ["class"], help: "Dead jobs by the class of their failure")
  static let refused = MetricDefinition(
    "analysis_submits_refused_total", .counter, labels: ["limit"],
    help: "Submits refused by a limit, since the month began")
  static let lastReport = MetricDefinition(
    "analysis_last_report_timestamp_seconds", .gauge,
    help: "When the last month's statement was closed, in seconds since 1970")
  static let databaseBytes = MetricDefinition(
    "analysis_database_bytes", .gauge, help: "Size of the database")
  static let databaseLimit = MetricDefinition(
    "analysis_database_limit_bytes", .gauge, help: "Size from which on submits are refused")

  /// All of them, in the order in which they are shown.
  static let all = [
    databaseUp, state, jobs, jobsAreCapped, oldestWaiting, pendingRefunds, workers, breakerOpen, pauses,
    webhooksOff, deadJobs, refused, lastReport, databaseBytes, databaseLimit,
  ]

  /// What there is to say of a queue; of one that did not answer, only that.
  static func families(_ status: QueueStatus?, _ totals: QueueTotals?, answers: Bool) -> [MetricFamily] {
    let up = databaseUp.value(answers ? 1 : 0)
    return [up] + (status.map(families) ?? []) + (totals.map(families) ?? [])
  }

  private static func families(_ status: QueueStatus) -> [MetricFamily] {
    let counts = status.lanes.map(\.waiting) + [status.scheduled, status.dead, status.pendingRefunds]
    let states = Dictionary(grouping: status.workers, by: \.state).mapValues(\.count)
    return [
      state.values(
        Dictionary(
          uniqueKeysWithValues: (status.state == nil ? [] : QueueState.Name.allCases).map {
            ($0.rawValue, $0 == status.state?.name ? 1 : 0)
          })),
      MetricFamily(jobs, status.lanes.flatMap(samples) + samples(status)),
      jobsAreCapped.value(counts.allSatisfy(\.isExact) ? 0 : 1),
      MetricFamily(
        oldestWaiting,
        status.lanes.map { MetricSample(labels($0.lane), $0.oldestWaitingSeconds.map { max(0, $0) } ?? 0) }),
      pendingRefunds.value(status.pendingRefunds.value),
      workers.values(
        Dictionary(
          uniqueKeysWithValues: [QueueStatus.WorkerStatus.State.alive, .lost, .ended].map {
            ($0.rawValue, states[$0] ?? 0)
          })),
      breakerOpen.values(breakers(status)), pauses.value(status.pauses.count),
      databaseBytes.value(status.gauges["database_bytes"].map(Double.init)),
    ]
  }

  private static func families(_ totals: QueueTotals) -> [MetricFamily] {
    // Whatever a newer worker may have written: the classes that are known here, and one for all others.
    let known = Dictionary(
      totals.dead.map { (FailureClass(rawValue: $0.key)?.rawValue ?? "other", $0.value) },
      uniquingKeysWith: +)
    return [
      webhooksOff.value(totals.webhooksOff), deadJobs.values(known),
      refused.values(["month": totals.refusedByMonthLimit]),
      lastReport.value(totals.lastStatementAt), databaseLimit.value(totals.databaseLimit.map(Double.init)),
    ]
  }

  private static func samples(_ lane: QueueStatus.LaneStatus) -> [MetricSample] {
    [
      MetricSample(["waiting"] + labels(lane.lane), Double(lane.waiting.value)),
      MetricSample(["running"] + labels(lane.lane), Double(lane.inFlight)),
    ]
  }

  private static func samples(_ status: QueueStatus) -> [MetricSample] {
    [
      MetricSample(["scheduled", "", ""], Double(status.scheduled.value)),
      MetricSample(["dead", "", ""], Double(status.dead.value)),
    ]
  }

  private static func labels(_ lane: Lane) -> [String] {
    [lane.kind?.rawValue ?? "unknown", lane.priority?.rawValue ?? "quarantine"]
  }

  /// Every endpoint that a live worker calls, with how many of them leave it alone.
  static func breakers(_ status: QueueStatus) -> [String: Int] {
    let endpoints = status.workers.filter { $0.state == .alive }.flatMap { $0.report?.endpoints ?? [] }
    return Dictionary(endpoints.map { ($0.name, $0.isLeftAlone ? 1 : 0) }, uniquingKeysWith: +)
  }
}

extension QueueMonitor {
  /// The metrics; of a database that does not answer, that it does not.
  func metrics() async -> [MetricFamily] {
    let (status, totals, answers) = await known()
    return QueueMetrics.families(status, totals, answers: answers)
  }

  /// Whether the database answers, and how the live workers find their endpoints.
  func readiness() async -> ServiceReadiness {
    let (status, _, answers) = await known()
    let alive = status?.workers.filter { $0.state == .alive } ?? []
    let endpoints = status.map(QueueMetrics.breakers) ?? [:]
    return ServiceReadiness(
      isReady: answers,
      [
        .init(name: "database", value: answers ? "answers" : "away"),
        .init(name: "workers", value: .count(alive.count)),
        .init(
          name: "endpoints",
          value: .array(
            endpoints.sorted { $0.key < $1.key }.map {
              ["endpoint": .string($0.key), "workers_that_leave_it_alone": .count($0.value)]
            })),
      ])
  }
}
