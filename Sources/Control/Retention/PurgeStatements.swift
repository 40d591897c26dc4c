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
  struct Month: Sendable, RenamedColumns {
    static let columns = ["hasImages": "images", "hasResults": "results", "isOver": "whole"]

    let period: Period
    let hasImages: Bool
    let hasResults: Bool
    let isOver: Bool
  }

  /// What one call went through.
  struct Step: Sendable, Decodable {
    /// The last key; nil at the end.
    let last: Int64?
    let looked: Int
    let rows: Int64
    let bytes: Int64
  }

  /// What went of one month.
  struct Part: Sendable, Decodable {
    let last: Int64?
    let period: Period?
    let rows: Int64
    let bytes: Int64
  }

  func months() -> Statement<[Month]> {
    Statement(
      SQLFunction("purge_months", 1), [.timestamp(moment)], as: [Month].self,
      while: "looking for what is past its time")
  }

  /// The months that have to be closed before what is past its time in them can go.
  func unclosedMonths() -> Statement<[Period]> {
    Statement(
      SQLFunction("unclosed_months", 1), [.timestamp(moment)], as: [Period].self,
      while: "looking for months that are not closed")
  }

  /// Gives a month the index by which its images find their jobs.
  func indexImages(_ period: Period) -> Statement<Bool> {
    Statement(
      SQLFunction("index_images", 2), [.int16(period.label), .timestamp(moment)], as: Bool.self,
      while: "preparing the removal of images of \(period)")
  }

  func images(_ shard: Int16, _ period: Period, after: Int64, tells: Bool) -> Statement<Step> {
    Statement(
      SQLFunction("purge_images", 7), step(shard, period, after, tells), as: Step.self,
      while: "removing images of \(period)")
  }

  func results(_ shard: Int16, _ period: Period, after: Int64, tells: Bool) -> Statement<Step> {
    Statement(
      SQLFunction("purge_results", 7), step(shard, period, after, tells), as: Step.self,
      while: "removing results of \(period)")
  }

  private func step(_ shard: Int16, _ period: Period, _ after: Int64, _ tells: Bool) -> [Parameter] {
    [
      .int16(shard), .int16(period.label), .int64(after), .int32(chunk), .timestamp(moment), .bool(isDry),
      .bool(tells),
    ]
  }

  func dead(_ shard: Int16, after: Int64, tells: Bool) -> Statement<[Part]> {
    Statement(
      SQLFunction("purge_dead", 6),
      [.int16(shard), .int64(after), .int32(chunk), .timestamp(moment), .bool(isDry), .bool(tells)],
      as: [Part].self, while: "removing jobs that failed")
  }

  /// Removes a whole month; nil when it does not go as a whole.
  ///
  /// - Parameter images: how many images are going that a dry run has left there.
  func month(_ period: Period, images: Int64) -> Statement<(rows: Int64, bytes: Int64)?> {
    Statement(
      SQLFunction("purge_month", 4),
      [.int16(period.label), .timestamp(moment), .bool(isDry), .int64(images)], as: Gone.self,
      while: "removing \(period)"
    ) { month in
      guard month.gone, let rows = month.rows, let bytes = month.bytes else { return nil }
      return (rows, bytes)
    }
  }

  private struct Gone: Decodable {
    let gone: Bool
    let rows, bytes: Int64?
  }

  func events(_ shard: Int16, tells: Bool) -> Statement<[Part]> {
    Statement(
      SQLFunction("purge_events", 5),
      [.int16(shard), .int32(chunk), .timestamp(moment), .bool(isDry), .bool(tells)], as: [Part].self,
      beside: ["last": nil], while: "removing events of webhooks")
  }

  func usage(tells: Bool) -> Statement<[Part]> {
    Statement(
      SQLFunction("purge_usage", 4), [.int32(chunk), .timestamp(moment), .bool(isDry), .bool(tells)],
      as: [Part].self, beside: ["last": nil], while: "removing counters")
  }

  /// - Parameter last: the last entry that may go.
  func audit(through last: Int64) -> Statement<[Part]> {
    Statement(
      SQLFunction("purge_audit", 4), [.int32(chunk), .timestamp(moment), .bool(isDry), .int64(last)],
      as: [Part].self, beside: ["last": nil], while: "removing entries of the audit")
  }

  /// The audit's last entry.
  func auditEnd() -> Statement<Int64> {
    Statement(SQLFunction("audit_ends", 0), as: AuditLog.ChainEnds.self, while: "reading the audit's end") {
      $0.id
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
