import CommandLineTool
import EventLoop
import PostgreSQL
import Queue
import Support

enum StatusCommand {
  static let watch = Flag(
    "watch", help: "Draw it anew every two seconds, until Ctrl-C; with --json, print a line each time.")

  static let command = ControlCommand(
    "status", abstract: "Show what waits in the queue and who works on it.",
    discussion: """
      Workers keep the counts, a few seconds old: the first line says how old they are. Up to 10,000 jobs a lane \
      they are exact; ~ stands before a larger number, which is about right. While no worker keeps them, all is \
      counted now: counting stops at 10,000 jobs a lane, so that asking never burdens the queue, and a plus sign \
      says that there are more.

      The second line says whether jobs are run: working, or paused, no worker or endpoint shut, and why. How many \
      jobs are done a second is what workers report. The time until the queue is empty goes by the last minute, as if \
      no job came; there is none while jobs are not run.

      Of each worker is shown what it has counted since its start, some seconds old: jobs done, tried again and \
      dead, jobs of lost workers that it took back (RESCUED), outcomes that came after the lease had gone and \
      stored nothing (STALE), leases that it lost (LOST), connections to the database that it made (six are \
      usual) and that failed; and how it finds each endpoint: open, shut after failures, or paused.

      --watch needs a terminal, unless --json is given. While the database cannot be reached it says so and goes on.
      """,
    examples: [
      Example("analysisctl status", "Lanes and workers."),
      Example("analysisctl status --watch", "The same, drawn anew every two seconds."),
      Example("analysisctl status --json", "The same for a program."),
    ],
    inputs: [watch],
    exitCodes: [.done, .usage, .unreachable, .tryLater]
  ) { context in
    let watches = try context[watch]
    guard !watches || context.view.isJSON || context.console.outputTerminal.isTerminal else {
      throw CommandFailure.usage(
        "--watch needs a terminal", advice: "For a program: --watch --json prints a line every two seconds.")
    }
    return try await context.withSession { session in
      let version = try await Migrator(session.database).status().version
      if watches { return try await StatusWatch(session: session, schemaVersion: version).run() }
      return try session.show(
        StatusResponse(queue: try await QueueStatus.read(session.database), schemaVersion: version))
    }
  }
}

/// The lanes, the counts and the workers of a queue.
struct StatusResponse: Sendable, Equatable, Presentable {
  let queue: QueueStatus
  let schemaVersion: Int

  var json: JSONValue {
    [
      "schema_version": .count(schemaVersion), "state": .text(queue.state?.name.rawValue),
      "state_reason": .text(queue.state?.why), "waiting": queue.waiting.json,
      "in_flight": .count(queue.inFlight), "scheduled": queue.scheduled.json,
      "next_scheduled_at": .time(queue.nextScheduledAt), "dead": queue.dead.json,
      "counted_seconds_ago": queue.countedAgo.map(JSONValue.number) ?? .null,
      "done_per_second": queue.rates.json,
      "seconds_until_empty": queue.emptyIn.map(JSONValue.number) ?? .null,
      "pending_refunds": queue.pendingRefunds.json,
      "oldest_waiting_seconds": queue.oldestWaitingSeconds.map(JSONValue.number) ?? .null,
      "lanes": .array(queue.lanes.map(\.json)), "workers": .array(queue.workers.map(\.json)),
      "pauses": .array(queue.pauses.map(\.json)),
      "gauges": .object(
        queue.gauges.sorted { $0.key < $1.key }.map {
          JSONValue.Member(name: $0.key, value: .integer($0.value))
        }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    var text =
      "waiting \(queue.waiting), running \(queue.inFlight), scheduled \(queue.scheduled), dead \(queue.dead)"
    text += queue.countedAgo.map { "; counted \(Moment.age($0)) ago\n" } ?? "\n"
    if let state = queue.state {
      text += (state.name.colour.map { paint(state.words, $0) } ?? state.words) + "\n"
    }
    if let line = queue.rates.line { text += line + emptyIn + "\n" }
    if let next = queue.nextScheduledAt { text += "next scheduled run: \(Moment.short(next))\n" }
    if queue.pendingRefunds.value > 0 { text += "refunds to be applied: \(queue.pendingRefunds)\n" }
    for pause in queue.pauses { text += paint(pause.line, .yellow) + "\n" }
    let lanes = laneTable?.render(width: width, paint: paint) ?? "No lane has jobs that wait or run.\n"
    text += "\n" + lanes + "\n"
    guard !queue.workers.isEmpty else { return text + "No worker was heard of in the last hour.\n" }
    text += workerTable.render(width: width, paint: paint)
    return text + reportTables.map { "\n" + $0.render(width: width, paint: paint) }.joined() + reasons
  }

  /// `; empty in 12 min`; nothing when that cannot be said.
  private var emptyIn: String {
    guard let seconds = queue.emptyIn, seconds > 0 else { return "" }
    return "; empty in \(Moment.age(seconds))"
  }

  /// The lanes that have something; nil where none has.
  private var laneTable: Table? {
    let lanes = queue.lanes.filter(\.hasJobs)
    guard !lanes.isEmpty else { return nil }
    return lanes.table([
      .init("LANE") { Cell($0.lane.description) },
      .init("WAITING", alignment: .right) { Cell($0.waiting.description) },
      .init("RUNNING", alignment: .right) { Cell($0.inFlight) },
      .init("OLDEST", alignment: .right) { Cell(Moment.age($0.oldestWaitingSeconds)) },
    ])
  }

  private var workerTable: Table {
    queue.workers.table([
      .init("WORKER", wraps: true) { Cell($0.host) },
      .init("PID", alignment: .right) { Cell($0.pid) },
      .init("STATE") { Cell($0.state.rawValue, $0.state.colour) },
      .init("VERSION") { Cell($0.version) },
      .init("STARTED", alignment: .right) { Cell(Moment.age($0.age) + " ago") },
      .init("HEARD OF", alignment: .right) { Cell(Moment.age($0.heartbeatAgo) + " ago") },
      .init("RUNNING", alignment: .right) { Cell($0.inFlight) },
    ])
  }

  /// Why endpoints are not called, a line for each endpoint and cause.
  private var reasons: String {
    var lines: [String] = []
    for worker in queue.workers where !worker.hasEnded {
      for endpoint in worker.report?.endpoints ?? [] {
        guard let reason = endpoint.reason else { continue }
        let line = printable("\(endpoint.name): \(reason)\n", keeping: "\n")
        if !lines.contains(line) { lines.append(line) }
      }
    }
    return lines.joined()
  }

  /// The counters that stand in the table, with their headings; the JSON has all.
  private static let counters = [
    ("DONE", "jobs_completed"), ("RETRIED", "jobs_retried"), ("DEAD", "jobs_dead"),
    ("RESCUED", "jobs_rescued"), ("STALE", "outcomes_stale"), ("LOST", "leases_lost"),
    ("CONNECTS", "database_connects"), ("FAILED", "database_connect_failures"),
  ]

  /// What workers report: what they have counted, and how they find their endpoints. Nothing when none has reported.
  private var reportTables: [Table] {
    let reports = queue.workers.compactMap { worker in
      worker.report.map { (name: "\(worker.host) \(worker.pid)", report: $0, hasEnded: worker.hasEnded) }
    }
    guard !reports.isEmpty else { return [] }
    var counters = Table(
      [.init("SINCE ITS START", shrinks: true)] + Self.counters.map { .init($0.0, alignment: .right) })
    var endpoints = Table([
      .init("ENDPOINT", wraps: true), .init("TYPES"), .init("WORKER", shrinks: true), .init("STATE"),
      .init("CALLS", alignment: .right),
    ])
    for (name, report, hasEnded) in reports {
      counters.add([Cell(name)] + Self.counters.map { Cell(report.counters[$0.1] ?? 0) })
      // One that has ended calls nothing any more.
      for endpoint in hasEnded ? [] : report.endpoints {
        endpoints.add([
          Cell(endpoint.name), Cell(endpoint.kinds.joined(separator: ",")), Cell(name),
          Cell(endpoint.shownState, endpoint.state == .open ? nil : .red),
          Cell("\(endpoint.inFlight)/\(endpoint.window)"),
        ])
      }
    }
    return [counters, endpoints].filter { $0.count > 0 }
  }
}

extension BoundedCount {
  fileprivate var json: JSONValue { ["value": .count(value), "exact": .bool(isExact)] }
}

extension QueueStatus.DoneRates {
  fileprivate var json: JSONValue {
    func json(_ rate: Double?) -> JSONValue { rate.map(JSONValue.number) ?? .null }
    return ["10s": json(tenSeconds), "1min": json(minute), "5min": json(fiveMinutes)]
  }

  /// `done a second: 12.5 (10 s), 12.1 (1 min), 9.8 (5 min)`; nil when nothing is known.
  fileprivate var line: String? {
    let known = [(tenSeconds, "10 s"), (minute, "1 min"), (fiveMinutes, "5 min")].compactMap { rate, time in
      rate.map { "\(($0 * 10).rounded() / 10) (\(time))" }
    }
    return known.isEmpty ? nil : "done a second: " + known.joined(separator: ", ")
  }
}

extension QueueStatus.LaneStatus {
  fileprivate var json: JSONValue {
    [
      "lane": .string(lane.description), "waiting": waiting.json, "in_flight": .count(inFlight),
      "oldest_waiting_seconds": oldestWaitingSeconds.map(JSONValue.number) ?? .null,
    ]
  }
}

extension QueueStatus.WorkerStatus {
  fileprivate var json: JSONValue {
    [
      "id": .string(String(id)), "host": .string(host), "pid": .count(pid), "version": .string(version),
      "started_at": .time(startedAt), "state": .string(state.rawValue),
      "heartbeat_seconds_ago": .number(heartbeatAgo),
      "in_flight": .count(inFlight), "report": report?.json ?? .null,
    ]
  }
}

extension QueueState.Name {
  fileprivate var colour: Paint.Colour? {
    switch self {
    case .working: nil
    case .paused: .yellow
    case .noWorker, .endpointShut: .red
    }
  }
}

extension QueueStatus.WorkerStatus.State {
  fileprivate var colour: Paint.Colour? {
    switch self {
    case .alive: nil
    case .lost: .red
    case .ended: .dim
    }
  }
}

extension WorkerReport {
  fileprivate var json: JSONValue {
    [
      "counters": .object(
        counters.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: .count($0.value)) }),
      "endpoints": .array(endpoints.map(\.json)),
      "clock_ahead_seconds": clockAhead.map(JSONValue.number) ?? .null,
      "clock_uncertainty_seconds": clockUncertainty.map(JSONValue.number) ?? .null,
    ]
  }
}

extension WorkerReport.Endpoint {
  fileprivate var json: JSONValue {
    [
      "name": .string(name), "types": .array(kinds.map(JSONValue.string)), "state": .string(state.rawValue),
      "reason": .text(reason), "next_try_seconds": nextTrySeconds.map(JSONValue.number) ?? .null,
      "in_flight": .count(inFlight), "window": .count(window),
    ]
  }

  /// `open`, `paused`, `shut, again in 12 s`.
  fileprivate var shownState: String {
    guard state == .shut, let nextTrySeconds else { return state.rawValue }
    return "shut, again in \(Moment.age(nextTrySeconds))"
  }
}

/// `analysisctl status --watch`: the status again and again, by one statement each time, until Ctrl-C or SIGTERM.
struct StatusWatch: RepeatedLook {
  let session: ControlSession
  private let schemaVersion: Int
  /// Where it is drawn; nil where lines of JSON are printed.
  private let screen: Screen?
  private var last: StatusResponse?

  private static let interval: Duration = .seconds(2)

  init(session: ControlSession, schemaVersion: Int) {
    self.session = session
    self.schemaVersion = schemaVersion
    screen = session.view.isJSON ? nil : Screen(session.console)
  }

  func run() async throws -> ExitCode {
    try screen?.open()
    defer { screen?.close() }
    var watch = self
    return try await watch.watch()
  }

  mutating func look() async throws -> Bool {
    last = StatusResponse(
      queue: try await QueueStatus.read(session.database), schemaVersion: schemaVersion)
    try show(nil)
    return true
  }

  mutating func failed(_ error: JobQueueError, isFirst: Bool) throws { try show(error) }

  func pause() async throws { try await session.loop.sleep(for: Self.interval) }

  /// Shows what was read last, and why there is nothing newer.
  private func show(_ failure: JobQueueError?) throws {
    guard let screen else {
      if let failure { session.console.say("\(failure.message); trying again") }
      if failure == nil, let last { try session.view.show(last) }
      return
    }
    try screen.draw { terminal in
      let paint = Paint(terminal)
      let now = Moment.short(UnixTime.now.secondsSince1970)
      let heading = failure.map { paint.red(printable("\(now)  \($0.message); trying again")) }
      let text = last?.text(width: terminal.width, paint: paint) ?? ""
      return (heading ?? paint.dim("\(now)  every 2 s; Ctrl-C ends")) + "\n\n" + text
    }
  }
}
