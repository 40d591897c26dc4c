import PostgreSQL
import SQLFiles

/// What there is to know of a month before its rows are read.
struct MonthFacts: Sendable {
  /// The moment of the report by the server's clock.
  let moment: Timestamp
  /// When its usage was stated; nil while it is a draft.
  let closedAt: Timestamp?
  /// Whether its time of grace is over.
  let isDue: Bool
  /// Whether it is over in every zone.
  let isOver: Bool
  /// Whether the server is a replica, which cannot close a month.
  let isReplica: Bool
  /// Since when results of it have been removed; nil while it is whole.
  let purgedSince: Timestamp?

  static let function = SQLFunction(
    "month_facts", 2, "at", "closed_at", "is_due", "is_over", "is_replica", "purged_since")

  var state: ReportState { closedAt == nil ? .draft : .closed }

  init(_ row: Row) throws(PostgreSQLError) {
    moment = try row.timestamp("at")
    closedAt = try row.timestampIfPresent("closed_at")
    isDue = try row.bool("is_due")
    isOver = try row.bool("is_over")
    isReplica = try row.bool("is_replica")
    purgedSince = try row.timestampIfPresent("purged_since")
  }
}
