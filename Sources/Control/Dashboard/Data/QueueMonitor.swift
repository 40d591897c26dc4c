import PostgreSQL
import Queue

/// What `serve` knows of the queue. It asks the database at most every few seconds, however many ask it, and never
/// twice at once; for pages that only stay open, when it is its turn.
actor QueueMonitor {
  /// How old the status may be that is shown.
  static let statusAge: Duration = .seconds(5)
  /// How old the totals may be, which cost more.
  static let totalsAge: Duration = .seconds(60)

  /// What all open pages may cost.
  nonisolated let budget: LiveBudget
  private let database: ConnectionPool
  private let totalsLimit: Duration
  private let now: @Sendable () -> ContinuousClock.Instant
  private(set) var status: QueueStatus?
  private var totals: QueueTotals?
  private var failure: (any Error)?
  private var callTimes = CallTimes()
  private var statusAt: ContinuousClock.Instant?
  /// When the status was read that is known, also where something was changed since.
  private var readAt: ContinuousClock.Instant?
  private var totalsAt: ContinuousClock.Instant?
  private var refreshing: Task<Void, any Error>?
  /// How often it was told to forget.
  private var forgotten = 0

  /// A monitor of a queue.
  ///
  /// - Parameter totalsLimit: How long the totals may take; a page waits for them, and its reader not for ever.
  init(
    _ database: ConnectionPool, totalsLimit: Duration = .seconds(5),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.database = database
    self.totalsLimit = totalsLimit
    self.now = now
    budget = LiveBudget(now: now)
  }

  /// The status and the totals as they are known; nothing of a database that does not answer, or that does not answer
  /// this login.
  func known() async -> (status: QueueStatus?, totals: QueueTotals?, answers: Bool) {
    try? await refresh()
    return (status, totals, status != nil || (failure as? JobQueueError)?.lacksRole == true)
  }

  /// The same for a page, which says why there is nothing.
  ///
  /// - Throws: What the database said last.
  func current(for visit: Visit = .person) async throws -> QueueView {
    try await refresh(for: visit)
    guard let status else { throw failure ?? PageFailure.notItsTurn }
    return QueueView(status: status, totals: totals, callTimes: callTimes)
  }

  /// Counts as workers do where none lives, so that the history goes on. A standby, and a login that only looks, cannot.
  func keepHistory() async {
    guard let status = await known().status, status.countedAgo == nil,
      let shards = try? await ShardDirectory(database).shards()
    else { return }
    try? await WorkerStatements.refreshCounts(of: shards).run(on: database)
  }

  /// Asks the database, unless that was done a moment ago. Whoever comes meanwhile waits for the same answer.
  ///
  /// - Throws: What it said, to whoever has it asked.
  func refresh() async throws { try await refresh(for: .person) }

  private func refresh(for visit: Visit) async throws {
    // What began before something was changed may lack the change, or has failed before it: then it is asked once more.
    while let refreshing { _ = await refreshing.result }
    guard isOld(statusAt, Self.statusAge) else { return }
    guard budget.allows(1, for: "status", readAt: readAt, to: visit) else {
      guard let readAt, status != nil else { return }
      let age = now() - readAt
      guard age < LiveBudget.oldest else { throw PageFailure.notItsTurn }
      return visit.note(age)
    }
    let task = Task { try await ask(for: visit) }
    refreshing = task
    try await task.value
  }

  /// Has the database asked anew, since something was changed.
  func forget() {
    statusAt = nil
    forgotten += 1
  }

  private func ask(for visit: Visit) async throws {
    let before = forgotten
    defer {
      readAt = now()
      if forgotten == before { statusAt = readAt }
      refreshing = nil
    }
    do {
      let read = try await QueueStatus.read(database)
      status = read
      failure = nil
      callTimes.add(read.workers, at: now())
    } catch {
      failure = error
      // What was known is old now: better nothing than that.
      status = nil
      totals = nil
      totalsAt = nil
      throw error
    }
    guard isOld(totalsAt, Self.totalsAge) else { return }
    if budget.allows(QueueTotals.statements, for: "totals", readAt: totalsAt, to: visit) {
      await askForTotals()
    }
  }

  /// The database answers without them too: where they fail or take too long they are left out, until they are due
  /// again.
  private func askForTotals() async {
    let reading = Task { [database] in try await QueueTotals.read(database) }
    let limit = Task { [totalsLimit] in
      do { try await Task.sleep(for: totalsLimit) } catch { return }  // they were read before
      reading.cancel()
    }
    totals = try? await reading.value
    limit.cancel()
    totalsAt = now()
  }

  private func isOld(_ since: ContinuousClock.Instant?, _ age: Duration) -> Bool {
    since.map { now() - $0 >= age } ?? true
  }
}

/// The queue as pages show it, all of one moment but the totals, which may be a minute old.
struct QueueView: Sendable {
  let status: QueueStatus
  /// Nil where they could not be read.
  let totals: QueueTotals?
  let callTimes: CallTimes
}

/// How long calls of each endpoint took, of those that ended within the last minute.
///
/// Workers say how many calls have ended since they started and how long those took together; what lies between two
/// of their reports is what happened meanwhile.
struct CallTimes: Sendable {
  private struct Total {
    var calls = 0
    var seconds = 0.0
  }

  private struct Reading {
    let at: ContinuousClock.Instant
    /// By endpoint and worker.
    let totals: [String: [Int64: Total]]
  }

  private static let span = Duration.seconds(60)
  private var readings: [Reading] = []

  /// Takes note of what the workers say.
  mutating func add(_ workers: [QueueStatus.WorkerStatus], at now: ContinuousClock.Instant) {
    var totals: [String: [Int64: Total]] = [:]
    for worker in workers where worker.state == .alive {
      for endpoint in worker.report?.endpoints ?? [] {
        guard let calls = endpoint.calls, let seconds = endpoint.callSeconds else { continue }
        totals[endpoint.name, default: [:]][worker.id] = Total(calls: calls, seconds: seconds)
      }
    }
    // The last one that is older than the span is what the span begins with.
    while readings.count > 1, now - readings[1].at >= Self.span { readings.removeFirst() }
    readings.append(Reading(at: now, totals: totals))
  }

  /// The mean in seconds; of calls since the workers started where nothing was heard before. Nil where no call ended.
  func mean(of endpoint: String) -> Double? {
    guard let last = readings.last?.totals[endpoint] else { return nil }
    let first = readings.count > 1 ? readings[0].totals[endpoint] ?? [:] : [:]
    var sum = Total()
    for (worker, total) in last {
      let before = first[worker] ?? Total()
      sum.calls += max(0, total.calls - before.calls)
      sum.seconds += max(0, total.seconds - before.seconds)
    }
    return sum.calls > 0 ? sum.seconds / Double(sum.calls) : nil
  }
}
