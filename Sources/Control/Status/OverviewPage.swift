import HTTPServing
import Queue
import Support

extension DashboardPage {
  /// What waits, what runs, how fast, and what is in the way.
  static let overview = DashboardPage(
    path: "/", section: .overview, roles: [.operator, .auditor, .worker]
  ) { _, context in
    let view = try await context.queue()
    let overview = Overview(view: view, mayPause: try await context.has(Pauses.roles))
    let hour = try await context.value(of: past("hour", age: .seconds(20), 3600, parts: 60, context))
    let day = try await context.value(of: past("day", age: .seconds(60), 86_400, parts: 96, context))
    return Page(
      title: "Overview",
      content: """
        \(HTML.live("now", overview.now))
        \(HTML.live("past", PastCharts(title: "The last hour", past: hour).html))
        \(HTML.live("day", PastCharts(title: "The last day", past: day).html))
        """, isLive: true)
  }

  private static func past(
    _ key: String, age: Duration, _ seconds: Int32, parts: Int32, _ context: DashboardContext
  ) -> Reading<[QueuePast]> {
    Reading(key: key, age: age, statements: 1, saysAge: false) { [database = context.database] in
      try await QueuePast.read(database, seconds: seconds, parts: parts)
    }
  }
}

/// What the overview says of this moment.
struct Overview {
  let view: QueueView
  /// Whether the login may pause and resume.
  let mayPause: Bool

  private var status: QueueStatus { view.status }
  private var alive: [QueueStatus.WorkerStatus] { status.workers.filter { $0.state == .alive } }

  /// Calls that are under way, as the live workers say.
  var calls: Int { alive.flatMap { $0.report?.endpoints ?? [] }.reduce(0) { $0 + $1.inFlight } }

  /// Jobs in workers' hands for which no call is under way yet. Workers say how many calls there are some seconds later
  /// than the leases do.
  var unsent: Int { max(0, status.inFlight - calls) }

  var now: HTML {
    """
    \(warnings)
    \(figures)
    <h2>Endpoints</h2>
    \(endpoints)
    <h2>Failures by cause</h2>
    \(failures)
    <h2>Lanes</h2>
    \(lanes)
    <h2>Pauses</h2>
    \(Pauses.html(status.pauses, mayChange: mayPause))
    """
  }

  // MARK: - What is wrong

  var warnings: [HTML] {
    var warnings: [HTML] = []
    if alive.isEmpty, status.waiting.value > 0 {
      warnings.append(
        .notice("bad", "Jobs wait, and no worker lives. Start one, or see <a href=\"/workers\">Workers</a>."))
    }
    let lost = status.workers.count { $0.state == .lost }
    if lost > 0 {
      warnings.append(
        .notice("warn", "\(lost) of the workers of the last hour are <a href=\"/workers\">lost</a>."))
    }
    for pause in status.pauses {
      let why: HTML = pause.reason.map { reason in ": \(reason)" } ?? ""
      let end: HTML = pause.secondsLeft.map { left in ", for \(Moment.age(left)) more" } ?? ""
      warnings.append(.notice("warn", "Paused by \(pause.by): \(pause.scope.description)\(end)\(why)"))
    }
    return warnings
  }

  // MARK: - Numbers

  private var figures: HTML {
    .figures([
      ("State", status.state.map { state in "\(state.words)" } ?? "not known"),
      ("Waiting", "\(status.waiting.description)"),
      ("Calls running now", "\(calls)"),
      ("Claimed, not yet sent", "\(unsent)"),
      ("Done a second, over 10 s", Self.rate(status.rates.tenSeconds)),
      ("over 1 min", Self.rate(status.rates.minute)),
      ("over 5 min", Self.rate(status.rates.fiveMinutes)),
      ("Time until empty", status.emptyIn.map { seconds in "\(Moment.age(seconds))" } ?? "not known"),
      ("Oldest waiting", status.oldestWaitingSeconds.map { seconds in "\(Moment.age(seconds))" } ?? "none"),
      ("Scheduled for later", "\(status.scheduled.description)"),
      ("Dead", "\(status.dead.description)"),
    ])
  }

  private static func rate(_ rate: Double?) -> HTML { rate.map { rate in "\(Chart.shown(rate))" } ?? "–" }

  // MARK: - Tables

  private var endpoints: HTML {
    var table = DataTable(
      "Each endpoint as the live workers find it",
      [
        .init("Endpoint"), .init("State"), .init("Calls", isNumber: true), .init("At most", isNumber: true),
        .init("Mean time", isNumber: true),
      ], empty: "No live worker has named an endpoint.")
    let found = Dictionary(grouping: alive.flatMap { $0.report?.endpoints ?? [] }, by: \.name)
    for (name, reports) in found.sorted(by: { $0.key < $1.key }) {
      let mean = view.callTimes.mean(of: name)
      table.add([
        "\(name)", Self.state(reports), "\(reports.reduce(0) { $0 + $1.inFlight })",
        "\(reports.reduce(0) { $0 + $1.window })", mean.map { mean in "\(Self.duration(mean))" } ?? "–",
      ])
    }
    return table.html
  }

  /// `open`, or how many workers leave it alone and why.
  private static func state(_ reports: [WorkerReport.Endpoint]) -> HTML {
    let away = reports.filter { $0.state != .open }
    guard let first = away.first else { return "<span class=\"good\">open</span>" }
    let reason: HTML = first.reason.map { reason in ": \(reason)" } ?? ""
    let kind: HTML = first.state == .paused ? "warn" : "bad"
    return
      "<strong class=\"\(kind)\">\(first.state.rawValue)</strong> for \(away.count) of \(reports.count) workers\(reason)"
  }

  /// `85 ms`, `1.2 s`.
  static func duration(_ seconds: Double) -> String {
    seconds < 1 ? "\(Int((seconds * 1000).rounded())) ms" : "\(Chart.shown(seconds)) s"
  }

  private var failures: HTML {
    guard let totals = view.totals else { return "<p class=\"empty\">The causes could not be read.</p>" }
    var table = DataTable(
      "Dead jobs by the class of their failure, as of the last minute",
      [.init("Cause"), .init("Jobs", isNumber: true)], empty: "No job is dead.")
    for (cause, count) in totals.dead.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
      table.add(["\(cause.replacing("_", with: " "))", "\(count)"])
    }
    return table.html
  }

  private var lanes: HTML {
    var table = DataTable(
      "What waits and runs, by type and priority",
      [
        .init("Lane"), .init("Waiting", isNumber: true), .init("Running", isNumber: true),
        .init("Oldest", isNumber: true),
      ], empty: "There are no lanes.")
    for lane in status.lanes {
      let oldest = lane.oldestWaitingSeconds
      table.add([
        "\(lane.lane.description)", "\(lane.waiting.description)", "\(lane.inFlight)",
        oldest.map { oldest in "\(Moment.age(oldest))" } ?? "–",
      ])
    }
    return table.html
  }
}

/// What the workers have kept of a time, as two charts.
struct PastCharts {
  let title: String
  let past: [QueuePast]

  var html: HTML {
    guard past.contains(where: { $0.waiting != nil }) else {
      return "<h2>\(title)</h2><p class=\"empty\">Nothing is kept of it: no worker and no dashboard ran.</p>"
    }
    // `2026-10-01 08:00:00Z`: the time of the day, to the minute.
    let moments = past.map { String(Moment.short($0.at).dropFirst(11).prefix(5)) }
    let work = Chart(
      title: "Ended", unit: "jobs a second", moments: moments,
      lines: [
        .init(name: "done", style: "first", values: past.map(\.done)),
        .init(name: "dead or to be retried", style: "second", values: past.map(Self.failed)),
      ])
    let stock = Chart(
      title: "In the queue", unit: "jobs", moments: moments,
      lines: [
        .init(name: "waiting", style: "first", values: past.map(\.waiting)),
        .init(name: "in workers' hands", style: "second", values: past.map(\.inFlight)),
      ])
    return "<h2>\(title)</h2><div class=\"charts\">\(work.html)\(stock.html)</div>"
  }

  private static func failed(_ past: QueuePast) -> Double? {
    guard let dead = past.dead, let retried = past.retried else { return nil }
    return dead + retried
  }
}

extension DashboardPage {
  /// Who works on the queue.
  static let workers = DashboardPage(
    path: "/workers", section: .workers, roles: [.operator, .auditor, .worker]
  ) { _, context in
    let workers = WorkerList(workers: try await context.queue().status.workers)
    return Page(title: "Workers", content: .live("workers", workers.html), isLive: true)
  }
}

/// The workers that were heard of in the last hour, the lost ones first.
struct WorkerList {
  let workers: [QueueStatus.WorkerStatus]

  private static let order: [QueueStatus.WorkerStatus.State] = [.lost, .alive, .ended]

  /// A page of them; the rest is named by its number, so that a page stays small.
  private static let most = 50

  var html: HTML {
    let sorted = Self.order.flatMap { state in workers.filter { $0.state == state } }
    var table = DataTable(
      "Workers that were heard of in the last hour",
      [
        .init("Worker"), .init("State"), .init("Jobs in hand", isNumber: true),
        .init("Calls", isNumber: true), .init("Done a second", isNumber: true),
        .init("Done", isNumber: true), .init("Retried", isNumber: true), .init("Dead", isNumber: true),
        .init("Last heard of", isNumber: true), .init("Started", isNumber: true), .init("Version"),
      ], empty: "No worker was heard of in the last hour.")
    for worker in sorted.prefix(Self.most) { table.add(Self.row(worker)) }
    let rest = sorted.count - Self.most
    let more: HTML = rest > 0 ? "<p>\(rest) more are not shown; analysisctl status lists all.</p>" : ""
    return "\(counts)\(table.html)\(more)"
  }

  private var counts: HTML {
    func count(_ state: QueueStatus.WorkerStatus.State) -> HTML {
      "\(workers.count { $0.state == state })"
    }
    return .figures([("Alive", count(.alive)), ("Lost", count(.lost)), ("Ended", count(.ended))])
  }

  private static func row(_ worker: QueueStatus.WorkerStatus) -> [HTML] {
    let counters = worker.report?.counters ?? [:]
    let calls = worker.report?.endpoints.reduce(0) { $0 + $1.inFlight }
    let done = counters["jobs_completed"]
    let rate = done.flatMap { worker.age > 0 ? Double($0) / worker.age : nil }
    return [
      "\(worker.host) \(worker.pid)", state(worker.state), "\(worker.inFlight)", number(calls),
      rate.map { rate in "\(Chart.shown(rate))" } ?? "–", number(done), number(counters["jobs_retried"]),
      number(counters["jobs_dead"]), "\(Moment.age(worker.heartbeatAgo)) ago",
      "\(Moment.age(worker.age)) ago",
      "\(worker.version)",
    ]
  }

  private static func number(_ number: Int?) -> HTML { number.map { number in "\(number)" } ?? "–" }

  private static func state(_ state: QueueStatus.WorkerStatus.State) -> HTML {
    switch state {
    case .alive: "<span class=\"good\">alive</span>"
    case .lost: "<strong class=\"bad\">lost</strong>"
    case .ended: "<span class=\"quiet\">ended</span>"
    }
  }
}
