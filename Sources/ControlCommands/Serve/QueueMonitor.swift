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
  private let now: @Sendable () -> ContinuousClock.Instant
  private var status: QueueStatus?
  private var totals: QueueTotals?
  private var statusAt: ContinuousClock.Instant?
  private var totalsAt: ContinuousClock.Instant?
  private var refreshing: Task<Void, any Error>?

  init(
    _ database: ConnectionPool, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.database = database
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
    let endpoints = Dictionary(
      alive.flatMap { $0.report?.endpoints ?? [] }.map { ($0.name, $0.isLeftAlone ? 1 : 0) },
      uniquingKeysWith: +)
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
      guard isOld(totalsAt, Self.totalsAge) else { return }
      totals = try await QueueTotals.read(database)
      totalsAt = now()
    } catch {
      // What was known is old now: better nothing than that.
      status = nil
      throw error
    }
  }

  private func isOld(_ since: ContinuousClock.Instant?, _ age: Duration) -> Bool {
    since.map { now() - $0 >= age } ?? true
  }
}
