import EventLoop
import PostgreSQL
import Queue
import Support

/// The calls of a purge, all for the same moment.
struct PurgeStatements: Sendable {
  /// What counts as now.
  let moment: Timestamp
  /// Whether nothing is to be changed.
  let isDry: Bool
  /// How many rows a call looks at.
  let chunk: Int32

  /// A month, and what in it may be past its time.
  struct Month: Sendable {
    let period: Period
    let hasImages: Bool
    let hasResults: Bool
    let isOver: Bool
  }

  /// What one call went through.
  struct Step: Sendable {
    /// The last key; nil at the end.
    let last: Int64?
    let looked: Int
    let rows: Int64
    let bytes: Int64
  }

  /// What went of one month.
  struct Part: Sendable {
    let last: Int64?
    let period: Period?
    let rows: Int64
    let bytes: Int64
  }

  func months() -> Statement<[Month]> {
    Statement(
      SQLFunction("purge_months", 1, "o_period", "o_images", "o_results", "o_whole"),
      [.timestamp(moment)], while: "looking for what is past its time"
    ) { rows in
      try rows.map {
        Month(
          period: try $0.period("o_period"), hasImages: try $0.bool("o_images"),
          hasResults: try $0.bool("o_results"), isOver: try $0.bool("o_whole"))
      }
    }
  }

  /// The months that have to be closed before what is past its time in them can go.
  func unclosedMonths() -> Statement<[Period]> {
    Statement(
      SQLFunction("unclosed_months", 1, "o_period"), [.timestamp(moment)],
      while: "looking for months that are not closed"
    ) { rows in
      try rows.map { try $0.period("o_period") }
    }
  }

  /// Gives a month the index by which its images find their jobs.
  func indexImages(_ period: Period) -> Statement<Bool> {
    Statement(
      SQLFunction("index_images", 2), [.int16(period.label), .timestamp(moment)],
      while: "preparing the removal of images of \(period)"
    ) { rows in
      try rows.single().bool("index_images")
    }
  }

  func images(_ shard: Int16, _ period: Period, after: Int64, tells: Bool) -> Statement<Step> {
    step(Self.imagesOf, shard, period, after, tells, while: "removing images")
  }

  func results(_ shard: Int16, _ period: Period, after: Int64, tells: Bool) -> Statement<Step> {
    step(Self.resultsOf, shard, period, after, tells, while: "removing results")
  }

  private static let imagesOf = SQLFunction("purge_images", 7, "o_last", "o_looked", "o_rows", "o_bytes")
  private static let resultsOf = SQLFunction("purge_results", 7, "o_last", "o_looked", "o_rows", "o_bytes")

  private func step(
    _ function: SQLFunction, _ shard: Int16, _ period: Period, _ after: Int64, _ tells: Bool,
    while doing: String
  ) -> Statement<Step> {
    Statement(
      function,
      [
        .int16(shard), .int16(period.label), .int64(after), .int32(chunk), .timestamp(moment), .bool(isDry),
        .bool(tells),
      ], while: "\(doing) of \(period)"
    ) { rows in
      let row = try rows.single()
      return Step(
        last: try row.int64IfPresent("o_last"), looked: try row.int("o_looked"),
        rows: try row.int64("o_rows"),
        bytes: try row.int64("o_bytes"))
    }
  }

  func dead(_ shard: Int16, after: Int64, tells: Bool) -> Statement<[Part]> {
    Statement(
      SQLFunction("purge_dead", 6, "o_last", "o_period", "o_rows", "o_bytes"),
      [.int16(shard), .int64(after), .int32(chunk), .timestamp(moment), .bool(isDry), .bool(tells)],
      while: "removing jobs that failed"
    ) { rows in
      try rows.map {
        Part(
          last: try $0.int64IfPresent("o_last"),
          period: try $0.isNull("o_period") ? nil : $0.period("o_period"),
          rows: try $0.int64("o_rows"), bytes: try $0.int64("o_bytes"))
      }
    }
  }

  /// Removes a whole month; nil when it does not go as a whole.
  ///
  /// - Parameter images: how many images are going that a dry run has left there.
  func month(_ period: Period, images: Int64) -> Statement<(rows: Int64, bytes: Int64)?> {
    Statement(
      SQLFunction("purge_month", 4, "o_gone", "o_rows", "o_bytes"),
      [.int16(period.label), .timestamp(moment), .bool(isDry), .int64(images)], while: "removing \(period)"
    ) { rows in
      let row = try rows.single()
      return try row.bool("o_gone") ? (rows: try row.int64("o_rows"), bytes: try row.int64("o_bytes")) : nil
    }
  }

  func events(_ shard: Int16, tells: Bool) -> Statement<[Part]> {
    records(
      SQLFunction("purge_events", 5, "o_period", "o_rows", "o_bytes"),
      [.int16(shard), .int32(chunk), .timestamp(moment), .bool(isDry), .bool(tells)],
      while: "removing events of webhooks")
  }

  func usage(tells: Bool) -> Statement<[Part]> {
    records(
      SQLFunction("purge_usage", 4, "o_period", "o_rows", "o_bytes"),
      [.int32(chunk), .timestamp(moment), .bool(isDry), .bool(tells)], while: "removing counters")
  }

  /// - Parameter last: the last entry that may go.
  func audit(through last: Int64) -> Statement<[Part]> {
    records(
      SQLFunction("purge_audit", 4, "o_period", "o_rows", "o_bytes"),
      [.int32(chunk), .timestamp(moment), .bool(isDry), .int64(last)], while: "removing entries of the audit")
  }

  /// The audit's last entry.
  func auditEnd() -> Statement<Int64> {
    Statement(SQLFunction("audit_ends", 0, "o_id"), [], while: "reading the audit's end") { rows in
      try rows.single().int64("o_id")
    }
  }

  private func records(_ function: SQLFunction, _ parameters: [Parameter], while doing: String) -> Statement<
    [Part]
  > {
    Statement(function, parameters, while: doing) { rows in
      try rows.map {
        Part(
          last: nil, period: try $0.period("o_period"), rows: try $0.int64("o_rows"),
          bytes: try $0.int64("o_bytes"))
      }
    }
  }
}

/// How a purge asks the database: with rests, and in a dry run without the right to change anything.
struct PurgeCalls: Sendable {
  let database: ConnectionPool
  let settings: Purger.Settings
  let actor: AuditActor?
  let isStopped: @Sendable () -> Bool

  /// To look at a whole month takes a while.
  private static let deadline: Duration = .seconds(600)
  /// How long a stop may go unnoticed.
  private static let glance: Duration = .milliseconds(100)

  /// Makes a call, and rests afterwards for as long as the share wants it.
  func ask<Output>(_ statement: Statement<Output>) async throws(JobQueueError) -> Output {
    let start = EventLoop.now
    let output: Output
    if settings.isDry {
      do {
        output = try await database.transaction(readOnly: true, deadline: Self.deadline) { transaction in
          try await statement.run(on: transaction, deadline: Self.deadline)
        }
      } catch {
        throw JobQueueError(error, while: "looking for what is past its time")
      }
    } else {
      output = try await statement.run(on: database, as: actor, deadline: Self.deadline)
    }
    let share = min(1, max(0.01, settings.share))
    try await rest((EventLoop.now - start) * ((1 - share) / share))
    return output
  }

  /// Leaves the database alone for a while, unless it is to stop.
  func rest(_ pause: Duration) async throws(JobQueueError) {
    let end = EventLoop.now + pause
    while EventLoop.now < end, !isStopped() {
      do {
        try await database.loop.sleep(for: min(Self.glance, end - EventLoop.now))
      } catch {
        throw JobQueueError(error, while: "resting between two removals")
      }
    }
  }
}
