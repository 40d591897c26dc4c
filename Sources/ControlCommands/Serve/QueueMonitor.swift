import Administration
import Formatting
import JobQueue
import Monitoring
import PostgreSQL

/// What `serve` knows of the queue. It asks the database at most every few seconds, however many ask it, and never
/// twice at once.
actor QueueMonitor {
  /// How old the status may be that is shown.
  static let statusAge: Duration = .seconds(5)
  /// How old the totals may be, which cost more.
  static let totalsAge: Duration = .seconds(60)

  private let database: ConnectionPool
  private let totalsLimit: Duration
  private let now: @Sendable () -> ContinuousClock.Instant
  private var status: QueueStatus?
  private var totals: QueueTotals?
  private var statusAt: ContinuousClock.Instant?
  private var totalsAt: ContinuousClock.Instant?
  private var refreshing: Task<Void, any Error>?

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
  }

  /// The metrics; of a database that does not answer, that it does not.
  func metrics() async -> [MetricFamily] {
    try? await refresh()
    return QueueMetrics.families(status, totals)
  }

  /// Whether the database answers, and how the live workers find their endpoints.
  func readiness() async -> ServiceReadiness {
    try? await refresh()
    let alive = status?.workers.filter { $0.state == .alive } ?? []
    let endpoints = status.map(QueueMetrics.breakers) ?? [:]
    return ServiceReadiness(
      isReady: status != nil,
      [
        .init(name: "database", value: status == nil ? "away" : "answers"),
        .init(name: "workers", value: .count(alive.count)),
        .init(
          name: "endpoints",
          value: .array(
            endpoints.sorted { $0.key < $1.key }.map {
              ["endpoint": .string($0.key), "workers_that_leave_it_alone": .count($0.value)]
            })),
      ])
  }

  /// Asks the database, unless that was done a moment ago. Whoever comes meanwhile waits for the same answer.
  ///
  /// - Throws: What it said last, to whoever has it asked.
  func refresh() async throws {
    if let refreshing { return try await refreshing.value }
    guard isOld(statusAt, Self.statusAge) else { return }
    let task = Task { try await ask() }
    refreshing = task
    defer { refreshing = nil }
    try await task.value
  }

  private func ask() async throws {
    defer { statusAt = now() }
    do {
      status = try await QueueStatus.read(database)
    } catch {
      // What was known is old now: better nothing than that.
      status = nil
      totals = nil
      totalsAt = nil
      throw error
    }
    if isOld(totalsAt, Self.totalsAge) { await askForTotals() }
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
