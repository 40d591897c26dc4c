import PostgreSQL
import Queue
import Support

/// What is asked of a reporter.
struct ReportRequest: Sendable {
  var kind: ReportKind
  /// The month in which the jobs count. It is each user's own: their billing zone decided it when the job
  /// was submitted.
  var month: Period
  /// The last of the months of a report of reviews; nil for one month. No other report looks at it.
  var lastMonth: Period?
  /// The IANA zone in which times are shown; nil for each user's billing zone. It changes no number.
  var zone: String?
  /// How the answer is written.
  var format: ReportFormat
  /// Whether CSV begins with a byte order mark, by which spreadsheets know UTF-8.
  var excel: Bool
  /// How many columns a terminal has for the table; nil for as many as the table needs.
  var width: Int?
  /// Whose usage a report of usage has, and in which rows; no other report looks at it.
  private(set) var scope: UsageScope

  init(
    _ kind: ReportKind, month: Period, zone: String? = nil, format: ReportFormat = .table,
    excel: Bool = false, width: Int? = nil, scope: UsageScope = UsageScope(), lastMonth: Period? = nil
  ) {
    self.kind = kind
    self.month = month
    self.lastMonth = kind.isOfReviews && lastMonth != month ? lastMonth : nil
    self.zone = zone
    self.format = format
    self.excel = excel
    self.width = width
    self.scope = scope
    // What programs read has had a line for every user since it was released, and who is asked for by name is shown.
    if format != .table || scope.user != nil { self.scope.hasIdleUsers = true }
  }
}

extension ReportRequest {
  /// What the report is of, in words: a month or some days.
  var span: String {
    groups?.dayText ?? lastMonth.map { "\(month) to \($0)" } ?? month.description
  }

  /// Whether it is of a month that is a draft or closed. What is added up, and what was said of analyses, is as it is
  /// now.
  var hasState: Bool { groups == nil && !kind.isOfReviews }

  /// The months behind the first of a report of several.
  var laterMonths: [Period] {
    guard let lastMonth, lastMonth > month else { return [] }
    return ((month.label + 1)...lastMonth.label).compactMap { Period(label: $0) }
  }

  /// How units are added up; nil for a report that has no such rows.
  var groups: UsageScope.Groups? { kind == .usage ? scope.groups : nil }
}

/// Which question a report answers.
enum ReportKind: String, Sendable, CaseIterable {
  /// What each user used of the month's quota, and by which they are billed: a row a user.
  case usage
  /// What was found in each photo: a row an analysis.
  case analyses
  /// How often each condition was found, and how surely: a row a condition.
  case conditions
  /// The month's totals: a row a number.
  case summary
  /// How often clinicians agree with what was found: a row a condition and band.
  case agreement
  /// Whether a confidence says how often they agree: a row a tenth.
  case calibration
}

extension ReportKind {
  /// Whether it tells what was found in people's pictures, so that it has to be recorded who reads it.
  var hasDiagnoses: Bool { self == .analyses || self == .conditions || isOfReviews }

  /// Whether it adds up what clinicians say of analyses.
  var isOfReviews: Bool { self == .agreement || self == .calibration }
}

/// How a report is written.
enum ReportFormat: String, Sendable, CaseIterable {
  /// Aligned columns for people.
  case table
  /// Comma-separated values as RFC 4180 has them.
  case csv
  /// One JSON object with the rows and what they are.
  case json
}

/// Where a report goes.
enum ReportDestination: Sendable {
  /// A file that is written beside its place, synced and renamed into it, readable by its owner only, with
  /// a file of the same name and `.json` that says what it holds.
  case file(String)
  /// A function that takes chunks of whole lines, each valid UTF-8 by itself. What it throws ends the
  /// report.
  case stream(@Sendable (_ chunk: [UInt8]) throws -> Void)
}

/// What became of a report.
struct ReportOutcome: Sendable, Equatable {
  /// The three ends that an exit code tells apart.
  enum Kind: Sendable, Equatable {
    /// The report was written.
    case written
    /// The file holds exactly this closed statement already, and was not touched.
    case nothingToDo
    /// The report was written as a draft although its month is over, and jobs of the month are open.
    case openJobs
  }

  let kind: Kind
  /// How many rows the report has, its header not counted.
  let rows: Int
  /// Whether the month is closed.
  let state: ReportState
  /// How many jobs of the month have neither a result nor died; counted only for a draft of a
  /// month that is over, else 0.
  let openJobs: Int
  /// The SHA-256 of the file's bytes as hexadecimal digits; nil when a stream was written.
  let sha256: String?
  /// Since when results of the month have been removed, in seconds since 1970: the report holds what is left of them.
  /// Nil while the month is whole, and for usage, which was stated before.
  var removedSince: Double?
  /// Whether this is a draft of the usage of a month that could be closed.
  var canBeClosed = false
  /// The time of the last change that the standby had from which it was read, in seconds since 1970; nil where the primary
  /// was read.
  var standbyChangedAt: Double?
}

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

/// Whose usage is reported, and whether a row is of a user or of a group of units.
struct UsageScope: Sendable, Equatable {
  /// The clinic whose patients the users are now, by name; nil for all users whom the login sees.
  var clinic: String?
  /// The user; nil for all.
  var user: String?
  /// Whether users who used nothing have a line too.
  var hasIdleUsers = false
  /// Whether what is billed stands beside each line.
  var hasPrices = false
  /// How the units of some days are added up; nil for a row a user.
  var groups: Groups?

  /// What a row of added-up usage is of.
  enum Grouping: String, Sendable, CaseIterable {
    /// A day by the clocks of each user's billing zone.
    case day
    /// The clinic whose patient a user is now.
    case clinic
    /// The plan at the moment of each unit.
    case plan
    /// The type of the analysis.
    case type
  }

  /// How the units of some days are added up.
  struct Groups: Sendable, Equatable {
    /// What a row is of.
    var by: Grouping
    /// The days in which the units were taken.
    var days: ClosedRange<CivilDate>

    /// How many days can be added up at once: a year.
    static let mostDays = 366

    /// Groups of the units of some days; the database refuses more than `mostDays`.
    init(by: Grouping, _ days: ClosedRange<CivilDate>) {
      self.by = by
      self.days = days
    }

    /// Groups of the units of a month.
    init(by: Grouping, _ month: Period) {
      let first = CivilDate(number: CivilDate(year: month.year, month: month.month, day: 1)?.number ?? 0)
      self.init(by: by, first...CivilDate(number: first.startOfNextMonth.number - 1))
    }

    /// The months that the days are of; none where the years are not known.
    var months: [Period] {
      let ends = [days.lowerBound, days.upperBound].compactMap { Period(year: $0.year, month: $0.month) }
      guard ends.count == 2 else { return [] }
      return (ends[0].label...ends[1].label).compactMap { Period(label: $0) }
    }

    /// The days in words: `2026-10-05 to 2026-10-20`; or the months, where they are whole ones (`2026-10`): then all is
    /// counted that these months' periods have, on whatever day.
    var dayText: String {
      let next = CivilDate(number: days.upperBound.number + 1)
      guard days.lowerBound.day == 1, next.day == 1, let first = months.first, let last = months.last else {
        return "\(days.lowerBound) to \(days.upperBound)"
      }
      return first == last ? "\(first)" : "\(first) to \(last)"
    }
  }
}
