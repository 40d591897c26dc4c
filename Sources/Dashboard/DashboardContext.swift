public import Administration
import AnalysisCore
import JobQueue
public import PostgreSQL
public import System

/// What pages and actions work with.
public struct DashboardContext: Sendable {
  /// The database, as the login that started the dashboard.
  let database: ConnectionPool
  /// What all pages show at the bottom: as whom they were read, and of which database.
  let login: String
  let databaseName: String
  /// The verification of the audit that somebody began.
  let verification = AuditVerification()
  /// What the users of each clinic have used of the running month.
  let clinicUsage: SlowReading<[ClinicUsage]>
  private let batchListReadings: BatchReadings<BatchList>
  private let batchReadings: BatchReadings<BatchReading>
  private let monitor: QueueMonitor
  private let cache: ReadCache
  private let owner: ProcessOwner
  /// Gives a stored picture as it was before it was encrypted; throws `UnreadablePicture` where that is not possible.
  let openPicture: @Sendable (ExportedImage) async throws -> [UInt8]

  /// Asks who is logged in where.
  ///
  /// - Parameters:
  ///   - monitor: The queue, asked once for all browsers and for a monitoring system.
  ///   - owner: The user of the operating system who runs the dashboard, for the audit.
  ///   - openPicture: Gives a stored picture as it was before it was encrypted, or throws `UnreadablePicture`.
  public init(
    _ database: ConnectionPool, _ monitor: QueueMonitor, owner: ProcessOwner,
    openPicture: @escaping @Sendable (ExportedImage) async throws -> [UInt8] = { _ in
      throw UnreadablePicture("This dashboard shows no pictures.")
    }, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) async throws {
    self.openPicture = openPicture
    cache = ReadCache(now: now)
    clinicUsage = SlowReading(now: now) { try await ClinicDirectory(database).usage() }
    batchListReadings = BatchReadings(now: now) { $0.batches.reduce(0) { $0 + $1.counts.jobs } }
    batchReadings = BatchReadings(now: now) { $0.status?.counts.jobs ?? 0 }
    self.database = database
    self.monitor = monitor
    self.owner = owner
    login = try await DatabaseLogin.read(database).name
    databaseName = try await Statement(
      file: "dashboard/where.sql", while: "asking for the database's name"
    ) { rows in try rows.single().string("name") }.run(on: database)
  }

  /// The queue, some seconds old: one statement for all browsers.
  ///
  /// - Throws: What the database said last, where it does not answer.
  func queue() async throws -> QueueView { try await monitor.current() }

  /// What was read a moment ago for the same key by whichever browser, or is read now. The key names the question with
  /// all its filters.
  func cached<Value: Sendable>(
    _ key: String, noOlderThan age: Duration = QueueMonitor.statusAge,
    _ read: @escaping @Sendable (ConnectionPool) async throws -> Value
  ) async throws -> Value {
    try await cache.value(key, noOlderThan: age) { [database] in try await read(database) }
  }

  /// A page of batches, and how old it is where that many jobs are counted anew.
  func batches(before: BatchID?, limit: Int) async throws -> (value: BatchList, age: Duration?) {
    try await batchListReadings.value(before?.description ?? "") { [database] in
      try await BatchDirectory(database).list(before: before, limit: limit)
    }
  }

  /// A batch, and how old its counts are where that many jobs are counted anew.
  func batch(_ batch: BatchID) async throws -> (value: BatchReading, age: Duration?) {
    try await batchReadings.value(batch.description) { [database] in
      try await BatchReading.read(batch, BatchDirectory(database))
    }
  }

  /// Has every page read anew, since something was changed.
  func forget() async {
    await cache.forget()
    await batchListReadings.forget()
    await batchReadings.forget()
    await monitor.forget()
  }

  /// Reads the queue, as far as that is due.
  func refresh() async { try? await monitor.refresh() }

  /// Whether this login has one of some roles, as of the last minute: a page offers what they allow.
  func has(_ roles: [DatabaseRole]) async throws -> Bool {
    try await login(noOlderThan: .seconds(60)).has(anyOf: roles)
  }

  /// Refuses a login that has none of some roles, before it fills in a form.
  func require(_ roles: [DatabaseRole]) async throws {
    let login = try await login(noOlderThan: QueueMonitor.statusAge)
    guard login.has(anyOf: roles) else { throw PageFailure(login, lacks: roles) }
  }

  private func login(noOlderThan age: Duration) async throws -> DatabaseLogin {
    try await cached("login", noOlderThan: age) { try await DatabaseLogin.read($0) }
  }

  /// Who acts, as the audit records it.
  func actor(reason: String?) -> AuditActor {
    AuditActor(user: owner.user, host: owner.host, reason: reason)
  }
}
