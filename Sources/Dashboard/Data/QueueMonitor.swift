public import Administration
import JobQueue
public import PostgreSQL

/// What `serve` knows of the queue. It asks the database at most every few seconds, however many ask it, and never
/// twice at once.
public actor QueueMonitor {
  /// How old the status may be that is shown.
  public static let statusAge: Duration = .seconds(5)
  /// How old the totals may be, which cost more.
  public static let totalsAge: Duration = .seconds(60)

  private let database: ConnectionPool
  private let totalsLimit: Duration
  private let now: @Sendable () -> ContinuousClock.Instant
  private var status: QueueStatus?
  private var totals: QueueTotals?
  private var failure: (any Error)?
  private var callTimes = CallTimes()
  private var statusAt: ContinuousClock.Instant?
  private var totalsAt: ContinuousClock.Instant?
  private var refreshing: Task<Void, any Error>?
  /// How often it was told to forget.
  private var forgotten = 0

  /// A monitor of a queue.
  ///
  /// - Parameter totalsLimit: How long the totals may take; a page waits for them, and its reader not for ever.
  public init(
    _ database: ConnectionPool, totalsLimit: Duration = .seconds(5),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.database = database
    self.totalsLimit = totalsLimit
    self.now = now
  }

  /// The status and the totals as they are known; nothing of a database that does not answer, or that does not answer
  /// this login.
  public func known() async -> (status: QueueStatus?, totals: QueueTotals?, answers: Bool) {
    try? await refresh()
    return (status, totals, status != nil || (failure as? JobQueueError)?.lacksRole == true)
  }

  /// The same for a page, which says why there is nothing.
  ///
  /// - Throws: What the database said last.
  func current() async throws -> QueueView {
    try await refresh()
    guard let status else { throw failure ?? CancellationError() }
    return QueueView(status: status, totals: totals, callTimes: callTimes)
  }

  /// Asks the database, unless that was done a moment ago. Whoever comes meanwhile waits for the same answer.
  ///
  /// - Throws: What it said, to whoever has it asked.
  public func refresh() async throws {
    // What began before something was changed may lack the change, or has failed before it: then it is asked once more.
    while let refreshing { _ = await refreshing.result }
    guard isOld(statusAt, Self.statusAge) else { return }
    let task = Task { try await ask() }
    refreshing = task
    try await task.value
  }

  /// Has the database asked anew, since something was changed.
  func forget() {
    statusAt = nil
    forgotten += 1
  }

  private func ask() async throws {
    let before = forgotten
    defer {
      if forgotten == before { statusAt = now() }
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

/// The queue as pages show it, all of one moment but the totals, which may be a minute old.
struct QueueView: Sendable {
  let status: QueueStatus
  /// Nil where they could not be read.
  let totals: QueueTotals?
  let callTimes: CallTimes
}
