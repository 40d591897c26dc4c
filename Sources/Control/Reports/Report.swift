import PostgreSQL
import Queue
import Support

/// A report: what it asks the database, its columns, and its rows as cells.
protocol Report: Sendable {
  /// One row as a value.
  associatedtype Entry: Sendable
  /// Appends the cells of a row, one for each column.
  static func put(_ row: Entry, into cells: inout [ReportCell])
  /// Whether a row is the sum of all others; it comes before them.
  static func isSum(_ row: Entry) -> Bool
  /// How many jobs of the report have not ended, in the row that says so; nil in all others.
  static func openJobs(_ row: Entry) -> Int64?
  /// Asks the database, and hands on the rows as they come. Throws what `each` throws, `schema` for a row that this
  /// program does not understand, and the database's errors.
  static func ask(
    _ question: ReportQuestion, of database: some Queryable, deadline: Duration, each: (Entry) throws -> Void
  ) async throws
}

extension Report {
  static func isSum(_ row: Entry) -> Bool { false }
  static func openJobs(_ row: Entry) -> Int64? { nil }
}

/// A report that reads row by row, by the columns' names.
protocol RowReport: Report {
  /// The call of its function.
  static func statement(for question: ReportQuestion) -> SQLStatement
  /// Hands on what a row of the answer holds.
  static func read(_ row: Row, of question: ReportQuestion, each: (Entry) throws -> Void) throws
}

extension RowReport {
  /// Asks in single-row mode, so that one row at a time is in memory.
  static func ask(
    _ question: ReportQuestion, of database: some Queryable, deadline: Duration, each: (Entry) throws -> Void
  ) async throws {
    try await database.forEachBatch(statement(for: question), deadline: deadline) { rows in
      for row in rows { try read(row, of: question, each: each) }
    }
  }
}

/// What a report asks the database, every choice made.
struct ReportQuestion: Sendable {
  let month: Period
  /// The last of several months; the same for one.
  let lastMonth: Period
  /// The zone to show times in as PostgreSQL spells it; nil for each user's billing zone.
  let zone: String?
  /// The moment of the report by the server's clock.
  let moment: Timestamp
  /// What the audit's entry of this reading is known by; nil for a report that has none.
  let reading: String?
  /// Whose usage is asked for.
  let scope: UsageScope
  /// From how many persons on a count is shown to a login that sees some clinics only.
  let leastPersons: Int
}

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
  /// Since when results of it have been removed; nil while it is whole.
  var purgedSince: Timestamp?

  static let function = SQLFunction(
    "month_facts", 2, "at", "closed_at", "is_due", "is_over", "purged_since")

  var state: ReportState { closedAt == nil ? .draft : .closed }

  init(_ row: Row) throws(PostgreSQLError) {
    moment = try row.timestamp("at")
    closedAt = try row.timestampIfPresent("closed_at")
    isDue = try row.bool("is_due")
    isOver = try row.bool("is_over")
    purgedSince = try row.timestampIfPresent("purged_since")
  }
}
