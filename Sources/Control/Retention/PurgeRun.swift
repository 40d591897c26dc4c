import PostgreSQL
import Queue
import Support

/// One run of a purge: the order in which kinds and months go, and what went.
struct PurgeRun {
  let statements: PurgeStatements
  let calls: PurgeCalls
  let shards: [Int16]
  private(set) var report = PurgeReport()

  init(statements: PurgeStatements, calls: PurgeCalls, shards: [Int16]) {
    self.statements = statements
    self.calls = calls
    self.shards = shards
  }

  private var isStopped: Bool { calls.isStopped() }

  /// Images first and failed jobs then, so that a month that has nothing else to live for can go as a whole.
  mutating func removeAll() async throws(JobQueueError) {
    let statements = statements
    let lastEntry = try await calls.ask(statements.auditEnd())
    let months = try await calls.ask(statements.months())
    report.unclosedMonths = try await calls.ask(statements.unclosedMonths())
    for month in months where month.hasImages && !isStopped {
      try await prepareImages(of: month.period)
      try await removeRows(.images, of: month.period)
    }
    try await removeDead()
    for month in months where month.hasResults && !isStopped {
      if month.isOver, try await removeWhole(month.period) { continue }
      try await removeRows(.results, of: month.period)
    }
    for shard in shards {
      try await removeRecords(.events) { statements.events(shard, tells: $0.isWithout(.events)) }
    }
    try await removeRecords(.usage) { statements.usage(tells: $0.isWithout(.usage)) }
    try await removeRecords(.audit) { _ in statements.audit(through: lastEntry) }
    report.isComplete = !isStopped
    report.sort()
  }

  /// Has a month's images find their jobs by an index. Where somebody holds the month just now they find them more
  /// slowly, in this run.
  private func prepareImages(of month: Period) async throws(JobQueueError) {
    guard !statements.isDry else { return }
    do throws(JobQueueError) {
      _ = try await calls.ask(statements.indexImages(month))
    } catch {
      guard error.code == .conflict else { throw error }
    }
  }

  /// Images or results of a month, row by row.
  private mutating func removeRows(
    _ kind: PurgeReport.Kind, of month: Period
  ) async throws(JobQueueError) {
    for shard in shards {
      var after: Int64 = 0
      while !isStopped {
        let tells = report.isWithout(kind, month)
        let statement =
          kind == .images
          ? statements.images(shard, month, after: after, tells: tells)
          : statements.results(shard, month, after: after, tells: tells)
        let step = try await calls.ask(statement)
        report.add(kind, month, rows: step.rows, bytes: step.bytes)
        guard let last = step.last else { break }
        after = last
      }
    }
  }

  private mutating func removeDead() async throws(JobQueueError) {
    for shard in shards {
      var after: Int64 = 0
      while !isStopped {
        let parts = try await calls.ask(
          statements.dead(shard, after: after, tells: report.isWithout(.dead)))
        add(parts, .dead)
        guard let last = parts.compactMap(\.last).max() else { break }
        after = last
      }
    }
  }

  /// Events of a shard, counters or the oldest of the audit.
  private mutating func removeRecords(
    _ kind: PurgeReport.Kind, by next: (PurgeReport) -> Statement<[PurgeStatements.Part]>
  ) async throws(JobQueueError) {
    while !isStopped {
      let parts = try await calls.ask(next(report))
      add(parts, kind)
      if parts.isEmpty || statements.isDry { break }
    }
  }

  /// Removes a whole month; false when it does not go as a whole. Its tables are asked for again and again: who holds
  /// one (a back-end's open transaction) does so for a while, and nobody is to wait behind us meanwhile.
  private mutating func removeWhole(_ month: Period) async throws(JobQueueError) -> Bool {
    let images = statements.isDry ? report.rows(.images, month) : 0
    for attempt in 1... {
      do throws(JobQueueError) {
        guard let gone = try await calls.ask(statements.month(month, images: images)) else { return false }
        report.add(.results, month, rows: gone.rows, bytes: gone.bytes, isWholeMonth: true)
        return true
      } catch {
        guard error.code == .conflict else { throw error }
        if attempt >= calls.settings.attempts || isStopped { break }
      }
      try await calls.rest(.milliseconds(250))
    }
    report.busyMonths.append(month)
    return true
  }

  private mutating func add(_ parts: [PurgeStatements.Part], _ kind: PurgeReport.Kind) {
    for part in parts {
      if let month = part.period { report.add(kind, month, rows: part.rows, bytes: part.bytes) }
    }
  }
}

/// What a purge removed, or would remove.
struct PurgeReport: Sendable, Equatable {
  /// What is kept for a time.
  enum Kind: String, Sendable, CaseIterable {
    /// The bytes of images.
    case images
    case dead
    /// Results and cancellations, with their jobs.
    case results
    /// Events that were sent to webhooks.
    case events
    /// The counters of months.
    case usage
    /// Entries of the audit.
    case audit
  }

  /// What went of one kind and month.
  struct Line: Sendable, Equatable {
    let kind: Kind
    /// The month in which it counted, was written, or its job ended.
    let month: Period
    var rows: Int64
    var bytes: Int64
    /// Whether the month went as a whole, with everything in it.
    var isWholeMonth = false
  }

  /// What went, by kind and month.
  var lines: [Line] = []
  /// Months that were to go as a whole, and whose tables somebody held for too long: for the next run.
  var busyMonths: [Period] = []
  /// Months of which something is past its time and stays, since they could be closed and are not.
  var unclosedMonths: [Period] = []
  /// Whether it came to its end, and was not told to stop before.
  var isComplete = true

  /// Whether nothing of a kind has gone yet.
  func isWithout(_ kind: Kind, _ month: Period? = nil) -> Bool {
    !lines.contains { $0.kind == kind && (month == nil || $0.month == month) && $0.rows > 0 }
  }

  /// How many of a kind and month have gone.
  func rows(_ kind: Kind, _ month: Period) -> Int64 {
    lines.first { $0.kind == kind && $0.month == month }?.rows ?? 0
  }

  mutating func add(_ kind: Kind, _ month: Period, rows: Int64, bytes: Int64, isWholeMonth: Bool = false) {
    guard rows > 0 || isWholeMonth else { return }
    if let index = lines.firstIndex(where: { $0.kind == kind && $0.month == month }) {
      lines[index].rows += rows
      lines[index].bytes += bytes
      lines[index].isWholeMonth = lines[index].isWholeMonth || isWholeMonth
    } else {
      lines.append(Line(kind: kind, month: month, rows: rows, bytes: bytes, isWholeMonth: isWholeMonth))
    }
  }

  /// The lines by kind and month.
  mutating func sort() {
    let order = Dictionary(uniqueKeysWithValues: Kind.allCases.enumerated().map { ($1, $0) })
    lines.sort { (order[$0.kind] ?? 0, $0.month) < (order[$1.kind] ?? 0, $1.month) }
  }
}

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
  func moment() async throws(JobQueueError) -> Timestamp {
    if let given = settings.moment { return Timestamp(secondsSince1970: given) }
    return try await Statement.serverTime.run(on: database)
  }
}
