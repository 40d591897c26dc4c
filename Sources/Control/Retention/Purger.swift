import PostgreSQL
import Queue
import Support

/// Removes what has been kept for as long as the settings say: images, results, failed jobs, events of webhooks,
/// counters and the oldest of the audit.
///
/// It works in many short transactions and rests between them, so that it takes no more than a share of the database's
/// time. It may be stopped, killed and repeated at any moment: what went has gone, and the rest is for the next run.
struct Purger: Sendable {
  private let database: ConnectionPool
  private let actor: AuditActor?
  private let settings: Settings

  /// How a purge goes about it.
  struct Settings: Sendable {
    /// Whether nothing is changed, and only told what would go.
    var isDry = false
    /// The share of the time in which the database works for it, above 0 and up to 1.
    var share = 0.2
    /// How many rows one transaction looks at.
    var chunk = 500
    /// How often a month's tables are asked for that somebody holds.
    var attempts = 20
    /// What counts as now, in seconds since 1970; nil for the server's clock.
    var moment: Double?

    /// The usual settings.
    init() {}
  }

  /// A purge that has not begun.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  init(_ database: ConnectionPool, _ settings: Settings = Settings(), by actor: AuditActor? = nil) {
    self.database = database
    self.settings = settings
    self.actor = actor
  }

  /// Removes what is past its time.
  ///
  /// - Parameter isStopped: asked between two transactions; it ends early when it says so.
  func run(
    isStopped: @escaping @Sendable () -> Bool = { false }
  ) async throws(JobQueueError) -> PurgeReport {
    let statements = PurgeStatements(
      moment: try await moment(), isDry: settings.isDry, chunk: Int32(clamping: settings.chunk))
    let calls = PurgeCalls(database: database, settings: settings, actor: actor, isStopped: isStopped)
    var run = PurgeRun(
      statements: statements, calls: calls, shards: try await ShardDirectory(database).shards())
    try await run.removeAll()
    return run.report
  }

  /// The moment that counts as now for the whole run.
  private func moment() async throws(JobQueueError) -> Timestamp {
    if let given = settings.moment { return Timestamp(secondsSince1970: given) }
    return try await Statement.serverTime.run(on: database)
  }
}
