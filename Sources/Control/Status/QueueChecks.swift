import PostgreSQL
import Queue
import Support

/// Whether jobs come to an end.
struct QueueChecks: DatabaseCheck {
  let group = "queue"
  let needsSchema = true

  /// How long after its end a lease may be found: rescue looks every few seconds.
  private static let patience = 30.0

  /// Jobs that died by one cause.
  struct Deaths: Sendable, Equatable {
    let cause: String
    let code: String?
    let count: Int
    /// One of them, to be looked at.
    let example: Int64
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("overdue", [.double(Self.patience)]).single()
    let overdue = Self.overdue(
      leases: try row.int(0), jobs: try row.int(1), seconds: try row.doubleIfPresent(2))
    let deaths = try await database.rows("deaths").map { row in
      Deaths(
        cause: try row.string(0), code: try row.stringIfPresent(1), count: try row.int(2),
        example: try row.int64(3))
    }
    return [overdue] + Self.judge(deaths)
  }

  static func overdue(leases: Int, jobs: Int, seconds: Double?) -> Finding {
    guard leases > 0 else { return .ok("queue.leases", "no lease is overdue") }
    return .wrong(
      "queue.leases",
      "\(leases) leases with \(jobs) jobs ran out up to \(Moment.age(seconds)) ago and nobody has taken them back",
      "Any worker that runs does it within seconds: start one, or see in its log what keeps it from doing so."
    )
  }

  static func judge(_ deaths: [Deaths]) -> [Finding] {
    guard !deaths.isEmpty else { return [.ok("queue.dead", "no job died in the last day")] }
    return deaths.map { deaths in
      let cause = [deaths.cause, deaths.code].compactMap { $0 }.joined(separator: " ")
      return .warning(
        "queue.dead", "\(deaths.count) jobs died in the last day: \(cause)",
        "Look at one: analysisctl jobs show \(deaths.example). When the cause has gone: analysisctl jobs retry."
      )
    }
  }
}

/// Whether the counters that bills stand on agree with the jobs, and every job is somewhere.
struct ReconcileCheck: DatabaseCheck {
  let group = "counters"
  let needsSchema = true

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let differences = try await Reconciliation.run(database.pool)
    let lost = try await Reconciliation.lostJobs(database.pool, limit: 1)
    return [
      differences.isEmpty
        ? .ok("counters", "the counters of every month agree with the jobs")
        : .wrong(
          "counters", "\(differences.count) counters of users' months do not agree with the jobs",
          "analysisctl reconcile lists them. Do not write bills before they are understood."),
      lost.count == 0
        ? .ok("counters.lost", "every job has ended, waits, is scheduled or runs")
        : .wrong(
          "counters.lost", "\(lost.count) jobs are in no table of the queue: no worker finds them",
          "analysisctl reconcile names them, and what to do."),
    ]
  }
}

/// Who works, how they fare, and whether jobs wait too long for it.
struct WorkerChecks: DatabaseCheck {
  let group = "workers"
  let needsSchema = true

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    Self.judge(try await QueueStatus.read(database.pool), maxWait: database.maxWait)
  }

  static func judge(_ queue: QueueStatus, maxWait: Duration? = nil) -> [Finding] {
    let alive = queue.workers.filter { $0.state == .alive }
    return state(queue) + [living(alive, queue)] + silent(queue) + versions(alive) + clocks(alive)
      + endpoints(alive)
      + pauses(queue) + idleKinds(alive, queue) + oldest(queue, maxWait)
  }

  /// What the queue does, in the words that all say; the other findings tell what is wrong of it.
  private static func state(_ queue: QueueStatus) -> [Finding] {
    guard let state = queue.state else { return [] }
    guard state.name != .working else { return [.ok("workers.state", "working")] }
    return [.warning("workers.state", state.words, "Jobs wait until that has ended.")]
  }

  private static func living(_ alive: [QueueStatus.WorkerStatus], _ queue: QueueStatus) -> Finding {
    let check = "workers.alive"
    guard alive.isEmpty else {
      return .ok(check, "\(alive.count) alive, \(queue.inFlight) jobs in their hands")
    }
    let advice = "Start analysis-worker; if one runs, its log says what keeps it from the database."
    guard queue.waiting.value > 0 else {
      return .warning(check, "none sent a heartbeat in the last 15 s", advice)
    }
    return .wrong(check, "none sent a heartbeat in the last 15 s, and \(queue.waiting) jobs wait", advice)
  }

  private static func silent(_ queue: QueueStatus) -> [Finding] {
    queue.workers.filter { $0.state == .lost }.map { worker in
      .warning(
        "workers.silent",
        "\(name(worker)) sent its last heartbeat \(Moment.age(worker.heartbeatAgo)) ago and was not stopped normally",
        "See whether it was killed, or cannot reach the database. Its jobs are run by the others.")
    }
  }

  private static func versions(_ alive: [QueueStatus.WorkerStatus]) -> [Finding] {
    let others = Set(alive.map(\.version)).subtracting([ProductVersion.current]).sorted()
    guard !alive.isEmpty else { return [] }
    guard !others.isEmpty else {
      return [.ok("workers.versions", "all are \(ProductVersion.current), as this program")]
    }
    return [
      .warning(
        "workers.versions",
        "some are \(others.joined(separator: ", ")), this program is \(ProductVersion.current)",
        "Finish the upgrade: analysisctl migrate first, then the workers one by one.")
    ]
  }

  private static func clocks(_ alive: [QueueStatus.WorkerStatus]) -> [Finding] {
    let findings = alive.compactMap { worker -> Finding? in
      guard let ahead = worker.report?.clockAhead, let uncertainty = worker.report?.clockUncertainty else {
        return nil
      }
      return ClockCheck.judge(
        ClockComparison(ahead: ahead, uncertainty: uncertainty), check: "workers.clock", who: name(worker))
    }
    guard !findings.isEmpty else { return [] }
    let wrong = findings.filter { $0.state != .ok }
    return wrong.isEmpty
      ? [.ok("workers.clock", "\(findings.count) workers' clocks go with the server's")] : wrong
  }

  /// Endpoints that a live worker leaves alone.
  private static func endpoints(_ alive: [QueueStatus.WorkerStatus]) -> [Finding] {
    alive.flatMap { worker in
      (worker.report?.endpoints ?? []).filter { $0.state == .shut || $0.state == .probing }.map { endpoint in
        .wrong(
          "workers.endpoint",
          "\(name(worker)) does not call \(endpoint.name): \(endpoint.reason ?? "it fails")",
          "Jobs wait and are not failed; the worker tries again by itself. See that the endpoint runs and can be "
            + "reached; the worker's log has what it answered. --endpoint and --credentials let doctor ask the "
            + "endpoint itself.")
      }
    }
  }

  /// Whether the job that waits longest waits longer than it may; nothing where no time was given.
  private static func oldest(_ queue: QueueStatus, _ maxWait: Duration?) -> [Finding] {
    guard let maxWait else { return [] }
    let check = "workers.wait"
    guard let seconds = queue.oldestWaitingSeconds else { return [.ok(check, "no job waits")] }
    guard Duration.seconds(seconds) > maxWait else {
      return [.ok(check, "the oldest waiting job waits for \(Moment.age(seconds))")]
    }
    let limit = Moment.age(maxWait.inSeconds)
    return [
      .wrong(
        check, "the oldest waiting job waits for \(Moment.age(seconds)), more than \(limit)",
        "See the findings above and analysisctl status: start more workers, or raise --concurrency where the "
          + "endpoint can take it.")
    ]
  }

  private static func pauses(_ queue: QueueStatus) -> [Finding] {
    queue.pauses.map { pause in
      .warning(
        "workers.paused", pause.line, "End it when its cause has gone: analysisctl resume.")
    }
  }

  /// Types that nobody takes on. A worker that does not say which it takes on may take on all.
  private static func idleKinds(_ alive: [QueueStatus.WorkerStatus], _ queue: QueueStatus) -> [Finding] {
    guard !alive.isEmpty, alive.allSatisfy({ $0.report != nil }) else { return [] }
    let taken = Set(alive.flatMap { $0.report?.endpoints ?? [] }.flatMap(\.kinds))
    return AnalysisKind.allCases.filter { !taken.contains($0.rawValue) }.compactMap { kind in
      let waiting = queue.lanes.filter { $0.lane.kind == kind }.reduce(BoundedCount(0)) { $0 + $1.waiting }
      guard waiting.value > 0 else { return nil }
      return .wrong(
        "workers.types", "\(waiting) \(kind.rawValue) jobs wait, and no worker takes on that type",
        "Start a worker with an endpoint for \(kind.rawValue), and see --type of those that run.")
    }
  }

  private static func name(_ worker: QueueStatus.WorkerStatus) -> String {
    "worker \(worker.host) \(worker.pid)"
  }
}
