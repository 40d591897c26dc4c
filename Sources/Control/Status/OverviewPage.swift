import HTTPServing
import Queue
import Support

extension DashboardPage {
  /// What waits, what runs, how fast, and what is in the way.
  static let overview = DashboardPage(
    path: "/", section: .overview, roles: [.operator, .auditor, .worker]
  ) { _, context in
    let view = try await context.queue()
    let overview = Overview(
      view: view, mayPause: try await context.has(Pauses.roles),
      seesJobs: try await context.has(FailuresPage.page.roles))
    let hour = try await context.value(of: past("hour", age: .seconds(20), 3600, parts: 60, context))
    let day = try await context.value(of: past("day", age: .seconds(60), 86_400, parts: 96, context))
    return Page(
      title: "Overview",
      content: """
        \(HTML.live("now", overview.now))
        \(HTML.live("past", PastCharts(id: "hour", title: "The last hour", past: hour).html))
        \(HTML.live("rest", overview.rest))
        \(HTML.live("day", PastCharts(id: "day", title: "The last day", past: day).html))
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
  /// Whether it may open the pages of jobs.
  let seesJobs: Bool

  private var status: QueueStatus { view.status }
  private var alive: [QueueStatus.WorkerStatus] { status.workers.filter { $0.state == .alive } }

  /// Calls that are under way, as the live workers say.
  var calls: Int { alive.flatMap { $0.report?.endpoints ?? [] }.reduce(0) { $0 + $1.inFlight } }

  /// Jobs in workers' hands for which no call is under way yet. Workers say how many calls there are some seconds later
  /// than the leases do.
  var unsent: Int { max(0, status.inFlight - calls) }

  /// How it is, before everything else.
  var now: HTML {
    """
    \(sentence)
    \(warnings)
    \(figures)
    """
  }

  /// Where it comes from.
  var rest: HTML {
    """
    \(part("endpoints", "Endpoints", endpoints))
    \(part("lanes", "Lanes", lanes))
    \(part("failures", "Failures by cause", failures))
    \(part("pauses", "Pauses", Pauses.html(status.pauses, mayChange: mayPause)))
    """
  }

  /// A part of the page; nothing where there is nothing to say.
  private func part(_ id: StaticString, _ title: StaticString, _ content: HTML?) -> HTML? {
    content.map { content in
      "<section id=\"\(id.description)\">\n<h2>\(title.description)</h2>\n\(content)\n</section>"
    }
  }

  // MARK: - How it is

  /// The state of the queue, as everything that shows it has it.
  private var sentence: HTML? {
    guard let state = status.state, let sentence = status.sentence else { return nil }
    let kind: HTML =
      switch state.name {
      case .working: "good"
      case .paused: "warn"
      case .noWorker, .endpointShut: status.waiting.value > 0 ? "bad" : "warn"
      }
    let advice: HTML? =
      state.name == .noWorker
      ? " Start analysis-worker, or see <a href=\"/workers\">Workers</a> for those that are lost." : nil
    return "<p class=\"state notice \(kind)\"><strong>\(sentence).</strong>\(advice)</p>"
  }

  var warnings: [HTML] {
    var warnings: [HTML] = []
    let lost = status.workers.count { $0.state == .lost }
    if lost > 0 {
      warnings.append(
        .notice("warn", "<a href=\"/workers\">Lost workers</a> in the last hour: \(lost)."))
    }
    for pause in status.pauses {
      let why: HTML = pause.reason.map { reason in ": \(reason)" } ?? ""
      let end: HTML = pause.secondsLeft.map { left in ", for \(Moment.age(left)) more" } ?? ""
      warnings.append(.notice("warn", "Paused by \(pause.by): \(pause.scope.description)\(end)\(why)"))
    }
    return warnings
  }

  // MARK: - Numbers

  /// Those that are not zero; of a queue in which nothing is there are none.
  private var figures: HTML? {
    func count(_ name: String, _ count: Int) -> (name: String, value: HTML)? {
      count > 0 ? (name, "\(count)") : nil
    }
    func bounded(_ name: String, _ count: BoundedCount) -> (name: String, value: HTML)? {
      count.value > 0 ? (name, "\(count.description)") : nil
    }
    func rate(_ name: String, _ rate: Double?) -> (name: String, value: HTML)? {
      rate.flatMap { rate in rate > 0 ? (name, "\(Chart.shown(rate))") : nil }
    }
    let figures = [
      bounded("Waiting", status.waiting), count("Calls running now", calls),
      count("Claimed, not yet sent", unsent), rate("Done a second, over 10 s", status.rates.tenSeconds),
      rate("Done a second, over 1 min", status.rates.minute),
      rate("Done a second, over 5 min", status.rates.fiveMinutes),
      status.oldestWaitingSeconds.map { seconds in ("Oldest waiting", "\(Moment.age(seconds))") },
      bounded("Scheduled for later", status.scheduled),
      bounded("Dead", status.dead),
    ].compactMap(\.self)
    return figures.isEmpty ? nil : .figures(figures)
  }

  // MARK: - Tables

  private var endpoints: HTML? {
    guard !alive.isEmpty else { return nil }
    var table = DataTable(
      "Each endpoint as the live workers find it",
      [
        .init("Endpoint"), .init("State"), .init("Calls", isNumber: true), .init("At most", isNumber: true),
        .init("Mean time", isNumber: true),
      ], empty: "No live worker has named an endpoint.")
    let found = Dictionary(grouping: alive.flatMap { $0.report?.endpoints ?? [] }, by: \.name)
    for (name, reports) in found.sorted(by: { $0.key < $1.key }) {
      let mean = view.callTimes.mean(of: name)
      table.add(
        [
          "\(name)", Self.state(reports), "\(reports.reduce(0) { $0 + $1.inFlight })",
          "\(reports.reduce(0) { $0 + $1.window })", mean.map { mean in "\(Self.duration(mean))" } ?? "–",
        ], id: "endpoint-\(name)")
    }
    return table.html
  }

  /// `open`, or how many workers leave it alone, why, and until when.
  private static func state(_ reports: [WorkerReport.Endpoint]) -> HTML {
    let away = reports.filter { $0.state != .open }
    guard let first = away.first else { return "<span class=\"good\">open</span>" }
    let reason: HTML = first.reason.map { reason in ": \(reason)" } ?? ""
    let kind: HTML = first.state == .paused ? "warn" : "bad"
    let next = away.compactMap(\.nextTrySeconds).min().map { seconds in
      "; \(first.state == .paused ? "resumed" : "tried again") in \(Moment.age(seconds))" as HTML
    }
    return """
      <strong class="\(kind)">\(first.state.rawValue)</strong> for \(away.count) of \(reports.count) workers\(reason)\(next)
      """
  }

  /// `85 ms`, `1.2 s`.
  static func duration(_ seconds: Double) -> String {
    seconds < 1 ? "\(Int((seconds * 1000).rounded())) ms" : "\(Chart.shown(seconds)) s"
  }

  private var failures: HTML? {
    guard let totals = view.totals else { return "<p class=\"empty\">The causes could not be read.</p>" }
    guard !totals.dead.isEmpty else { return nil }
    var table = DataTable(
      "Dead jobs by the class of their failure, as of the last minute",
      [.init("Cause"), .init("Jobs", isNumber: true)], empty: "")
    for (cause, count) in totals.dead.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
      table.add(["\(cause.replacing("_", with: " "))", "\(count)"], id: "cause-\(cause)")
    }
    let link: HTML? = seesJobs ? "\n<p><a href=\"/failures\">Their messages, and what to do</a></p>" : nil
    return "\(table.html)\(link)"
  }

  /// The lanes that have something.
  private var lanes: HTML? {
    let lanes = status.lanes.filter(\.hasJobs)
    guard !lanes.isEmpty else { return nil }
    var table = DataTable(
      "What waits and runs, by type and priority",
      [
        .init("Lane"), .init("Waiting", isNumber: true), .init("Running", isNumber: true),
        .init("Oldest", isNumber: true),
      ], empty: "")
    for lane in lanes {
      let oldest = lane.oldestWaitingSeconds
      table.add(
        [
          "\(lane.lane.description)", "\(lane.waiting.description)", "\(lane.inFlight)",
          oldest.map { oldest in "\(Moment.age(oldest))" } ?? "–",
        ], id: "lane-\(lane.lane.description)")
    }
    return table.html
  }
}

/// What the workers have kept of a time, as two charts.
struct PastCharts {
  /// Its own on the page.
  let id: String
  let title: String
  let past: [QueuePast]

  var html: HTML {
    guard past.contains(where: { $0.waiting != nil }) else {
      return "<h2>\(title)</h2><p class=\"empty\">Nothing is kept of it: no worker and no dashboard ran.</p>"
    }
    // `2026-10-01 08:00:00Z`: the time of the day, to the minute.
    let moments = past.map { String(Moment.short($0.at).dropFirst(11).prefix(5)) }
    let work = Chart(
      id: "\(id)-ended", title: "Ended", unit: "jobs a second, by UTC", moments: moments,
      lines: [
        .init(name: "done", style: "first", values: past.map(\.done)),
        .init(name: "dead or to be retried", style: "second", values: past.map(Self.failed)),
      ])
    let stock = Chart(
      id: "\(id)-stock", title: "In the queue", unit: "jobs, by UTC", moments: moments,
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
    for worker in sorted.prefix(Self.most) { table.add(Self.row(worker), id: "worker-\(worker.id)") }
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
