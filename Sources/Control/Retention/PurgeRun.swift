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
