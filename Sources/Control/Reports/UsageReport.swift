import CommandLineTool
import PostgreSQL
import Queue
import Support

/// What each user used: a row a user, in a closed month a row an adjustment of an earlier month, and their sum.
enum UsageReport: RowReport {
  /// The columns, in an order that never changes.
  static let columns: [Column] = [
    .text("user", "User"),
    .text("month", "Month", for: .programs),
    .text("line", "Line", for: .programs),
    .text("labelled_month", "Month", for: .people),
    .text("plan", "Plan", for: .programs),
    .text("plan_name", "Plan"),
    .number("limit", "Limit"),
    .number("used", "Used"),
    .number("remaining", "Remaining"),
    .number("over", "Over"),
    .number("analysed", "Analysed"),
    .number("open", "Open"),
    .number("failed", "Failed"),
    .number("cancelled", "Cancelled", for: .programs),
    .number("refunded", "Refunded"),
    .number("refused", "Refused"),
    .number("calls", "Calls"),
    .text("last_reset", "Last reset"),
    .text("zone", "Zone", for: .programs),
  ]

  static func put(_ row: UsageRow, into cells: inout [ReportCell]) {
    let month = row.month?.description
    cells += [
      .text(row.user), ReportCell(month), .text(row.line.rawValue),
      ReportCell(row.line == .adjustment ? month.map { "\($0) adjustment" } : month), ReportCell(row.plan),
      ReportCell(row.planName), limit(row, row.limit), ReportCell(row.used),
      row.line == .segment ? .absent : limit(row, row.remaining),
      ReportCell(row.over), ReportCell(row.analysed), ReportCell(row.open), ReportCell(row.failed),
      ReportCell(row.cancelled),
      ReportCell(row.refunded), ReportCell(row.refused), ReportCell(row.calls), ReportCell(row.lastReset),
      ReportCell(row.zone),
    ]
  }

  static func isSum(_ row: UsageRow) -> Bool { row.line == .sum }
  static func openJobs(_ row: UsageRow) -> Int64? { isSum(row) ? row.open : nil }

  /// A number of the limit: an adjustment has none, and where a month has none there is no limit.
  private static func limit(_ row: UsageRow, _ number: Int64?) -> ReportCell {
    if let number { return .integer(number) }
    return (row.line == .month || row.line == .segment) && row.plan != nil ? .unlimited : .absent
  }

  static func statement(for question: ReportQuestion) -> SQLStatement {
    SQLStatement(
      SQLFunction(
        "usage_lines", 6, "user_ref", "for_period", "plan", "plan_name", "monthly_limit", "used", "over",
        "analysed", "open", "failed", "cancelled", "refunded", "refused", "calls", "last_reset",
        "last_reset_local", "zone"
      ).text,
      parameters(question), label: "the usage report")
  }

  /// What the function is asked for.
  fileprivate static func parameters(_ question: ReportQuestion) -> [Parameter] {
    [
      .int16(question.month.label), .text(question.zone), .timestamp(question.moment),
      .text(question.scope.clinic), .text(question.scope.user), .bool(question.scope.hasIdleUsers),
    ]
  }

  static func read(_ row: Row, of question: ReportQuestion, each: (UsageRow) throws -> Void) throws {
    try each(try usage(row, of: question, isPart: false))
  }

  /// Reads the columns of both reports of usage by their places: of very many rows nothing is looked up by name.
  ///
  /// - Parameter isPart: Whether it is a part of a line that has a row of its own.
  fileprivate static func usage(
    _ row: Row, of question: ReportQuestion, isPart: Bool
  ) throws -> UsageRow {
    let month = try row.int16IfPresent(1) == nil ? nil : try row.period(1)
    let line: UsageRow.Line = month.map { $0 == question.month ? .month : .adjustment } ?? .sum
    return UsageRow(
      user: try row.stringIfPresent(0) ?? "Total", month: month, line: isPart ? .segment : line,
      plan: try row.stringIfPresent(2), planName: try row.stringIfPresent(3),
      limit: try row.int64IfPresent(4), used: try row.int64IfPresent(5), over: try row.int64IfPresent(6),
      analysed: try row.int64IfPresent(7), open: try row.int64IfPresent(8), failed: try row.int64IfPresent(9),
      cancelled: try row.int64IfPresent(10), refunded: try row.int64IfPresent(11),
      refused: try row.int64IfPresent(12), calls: try row.int64IfPresent(13),
      lastReset: month == nil || isPart
        ? nil : LocalTime(try row.timestamp(14), local: try row.timestamp(15)),
      zone: try row.stringIfPresent(16))
  }
}

/// The same with what is billed for it: the amounts of a clinic, or of a user, add up to those of the statement.
enum BilledUsageReport: RowReport {
  /// The columns of the report without prices, as they are there, and those of the bill.
  static let columns =
    UsageReport.columns + [
      .text("clinic", "Clinic"),
      .number("units", "Units"),
      .number("unit_price", "Unit price"),
      .number("amount", "Amount"),
      .text("currency", "Currency"),
    ]

  static func put(_ row: BilledUsage, into cells: inout [ReportCell]) {
    UsageReport.put(row.usage, into: &cells)
    cells += [
      ReportCell(row.clinic), ReportCell(row.units), ReportCell(row.price), ReportCell(row.amount),
      ReportCell(row.currency),
    ]
  }

  static func isSum(_ row: BilledUsage) -> Bool { UsageReport.isSum(row.usage) }
  static func openJobs(_ row: BilledUsage) -> Int64? { UsageReport.openJobs(row.usage) }

  static func statement(for question: ReportQuestion) -> SQLStatement {
    SQLStatement(
      SQLFunction(
        "billed_lines", 6, "user_ref", "for_period", "plan", "plan_name", "monthly_limit", "used", "over",
        "analysed", "open", "failed", "cancelled", "refunded", "refused", "calls", "last_reset",
        "last_reset_local", "zone", "part", "clinic", "units", "price", "amount", "currency"
      ).text,
      UsageReport.parameters(question), label: "the usage report with prices")
  }

  static func read(_ row: Row, of question: ReportQuestion, each: (BilledUsage) throws -> Void) throws {
    try each(
      BilledUsage(
        usage: try UsageReport.usage(row, of: question, isPart: try row.int16("part") > 0),
        clinic: try row.stringIfPresent("clinic"), units: try row.int64IfPresent("units"),
        price: try row.stringIfPresent("price").flatMap(DecimalText.init),
        amount: try row.stringIfPresent("amount").flatMap(DecimalText.init),
        currency: try row.stringIfPresent("currency")))
  }
}

/// A line of the report of usage, and what is billed for it.
struct BilledUsage: Equatable, Sendable {
  let usage: UsageRow
  /// The clinic that is billed; nil for none, and where nothing was used.
  let clinic: String?
  /// The units that are billed; nil where nothing was used.
  let units: Int64?
  /// The price of one, and of all of them; nil where there is none.
  let price, amount: DecimalText?
  let currency: String?
}

/// What one user used in one month, or all of them together.
struct UsageRow: Equatable, Sendable {
  /// What a row is about.
  enum Line: String, Sendable {
    case month
    /// What changed in an earlier month since it was stated.
    case adjustment
    /// A part of a month, or of an adjustment, with a plan, limit or price of its own: it has what is billed, and the
    /// line of which it is a part has all counts.
    case segment
    /// The sum of all other rows.
    case sum
  }

  let user: String
  /// The month that the numbers are of: the one asked for, or the earlier one that is adjusted; nil for the sum.
  let month: Period?
  let line: Line
  /// The plan's name among programs; nil on adjustments, for a user without a plan and for the sum.
  let plan: String?
  let planName: String?
  /// The monthly limit; nil for none.
  let limit: Int64?
  /// Units taken and not refunded, those of open jobs among them; on adjustments, as all numbers there,
  /// by how much it changed. Nil on segments, as the others that are counted.
  let used: Int64?
  /// Units used beyond the limit at the month's end, which a limit lowered within the month brings about.
  let over: Int64?
  /// Jobs with a result; nil on adjustments, as the others that do not touch a bill.
  let analysed: Int64?
  /// Jobs without a result that did not fail: what is used is either analysed or open.
  let open: Int64?
  let failed: Int64?
  let cancelled: Int64?
  /// Units refunded for jobs that died or were cancelled.
  let refunded: Int64?
  /// Submits refused by the quota.
  let refused: Int64?
  /// Calls of the endpoint, repeated ones among them.
  let calls: Int64?
  /// When the month began for this user; nil for the sum.
  let lastReset: LocalTime?
  /// The user's billing zone; nil for the sum.
  let zone: String?

  /// Units that may still be taken; nil without a limit.
  var remaining: Int64? {
    guard let limit, let used else { return nil }
    return max(0, limit - used)
  }
}

/// What was used on some days: a row a day, clinic, plan or type, and their sum.
enum UsageGroupsReport: RowReport {
  /// The columns, in an order that never changes.
  static func columns(by grouping: UsageScope.Grouping) -> [Column] {
    [
      .text("group", heading(grouping), for: .programs),
      .text("label", heading(grouping), for: .people),
      .number("users", "Users"),
      .number("used", "Used"),
      .number("analysed", "Analysed"),
      .number("open", "Open"),
      .number("failed", "Failed"),
      .number("cancelled", "Cancelled"),
      .number("calls", "Calls"),
    ]
  }

  private static func heading(_ grouping: UsageScope.Grouping) -> String {
    switch grouping {
    case .day: "Day"
    case .clinic: "Clinic"
    case .plan: "Plan"
    case .type: "Type"
    }
  }

  static func put(_ row: UsageGroup, into cells: inout [ReportCell]) {
    cells += [
      ReportCell(row.group), .text(row.label), .integer(row.users), .integer(row.used),
      .integer(row.analysed),
      .integer(row.open), .integer(row.failed), .integer(row.cancelled), .integer(row.calls),
    ]
  }

  static func isSum(_ row: UsageGroup) -> Bool { row.isSum }

  static func statement(for question: ReportQuestion) -> SQLStatement {
    let (scope, groups) = (question.scope, question.scope.groups)
    return SQLStatement(
      SQLFunction("usage_groups", 5).text,
      [
        .text(groups?.by.rawValue), .text(groups?.days.lowerBound.description),
        .text(groups?.days.upperBound.description), .text(scope.clinic), .text(scope.user),
      ], label: "the usage of some days")
  }

  static func read(_ row: Row, of question: ReportQuestion, each: (UsageGroup) throws -> Void) throws {
    try each(row.decode(UsageGroup.self, beside: ["remainder": remainder(question.scope.groups?.by)]))
  }

  /// What people read of the units that are in no group.
  private static func remainder(_ grouping: UsageScope.Grouping?) -> String {
    switch grouping {
    case .clinic: "without a clinic"
    case .plan: "without a plan"
    case .day, .type, nil: "unknown"
    }
  }
}

/// What was used in one group, or in all together.
struct UsageGroup: Equatable, Sendable, RenamedColumns {
  static let columns = ["name": "label"]

  /// The day, or the clinic's, plan's or type's name; nil for units that are in none, and for the sum.
  let group: String?
  /// What people read in its place; nil for units that are in none, and for the sum.
  let name: String?
  /// What people read of units that are in none.
  let remainder: String
  /// Users with a job; in the sum each counts once.
  let users: Int64
  /// Units taken and not refunded, those of open jobs among them.
  let used: Int64
  /// Jobs with a result.
  let analysed: Int64
  /// Jobs that have neither a result nor died.
  let open: Int64
  let failed: Int64
  let cancelled: Int64
  /// Calls of the endpoint, repeated ones among them.
  let calls: Int64
  /// Whether this is the sum of all other rows.
  let isSum: Bool

  var label: String { name ?? (isSum ? "Total" : remainder) }
}

/// The month's totals: a row a total, in an order that never changes.
enum SummaryReport: RowReport {
  /// The columns, in an order that never changes.
  static let columns: [Column] = [
    .text("measure", "Measure", for: .programs),
    .text("label", "Total", for: .people),
    .number("value", "Value"),
  ]

  static func put(_ row: SummaryRow, into cells: inout [ReportCell]) {
    cells += [
      .text(row.measure.rawValue), .text(label(row.measure)),
      .count(row.value, leastPersons: row.leastPersons),
    ]
  }

  static func openJobs(_ row: SummaryRow) -> Int64? { row.measure == .open ? row.value : nil }

  /// What each number is called among people.
  private static func label(_ measure: SummaryMeasure) -> String {
    switch measure {
    case .users: "Users"
    case .activeUsers: "Users with jobs"
    case .used: "Units used"
    case .over: "Units over the limit"
    case .analysed: "Jobs analysed"
    case .open: "Jobs open"
    case .failed: "Jobs dead"
    case .cancelled: "Jobs cancelled"
    case .refunded: "Units refunded"
    case .refused: "Submits refused by quota"
    case .calls: "Endpoint calls"
    case .adjusted: "Units adjusted in earlier months"
    case .throat: "Analyses of throats"
    case .ear: "Analyses of ears"
    case .serious: "Analyses with a serious condition"
    case .consult: "Analyses advising a consultation"
    case .withoutCondition: "Analyses without a condition"
    case .normal: "Conditions, normal"
    case .green: "Conditions, green"
    case .yellow: "Conditions, yellow"
    case .orange: "Conditions, orange"
    case .red: "Conditions, red"
    }
  }

  static func statement(for question: ReportQuestion) -> SQLStatement {
    SQLStatement(
      SQLFunction(
        "summary_report", 2, "users", "active_users", "used", "over", "analysed", "open", "failed",
        "cancelled", "refunded", "refused", "calls", "adjusted", "throat", "ear", "serious", "consult",
        "without_condition", "normal", "green", "yellow", "orange", "red"
      ).text,
      [.int16(question.month.label), .timestamp(question.moment)], label: "the summary")
  }

  static func read(_ row: Row, of question: ReportQuestion, each: (SummaryRow) throws -> Void) throws {
    for measure in SummaryMeasure.allCases {
      try each(
        SummaryRow(
          measure: measure, value: try row.int64IfPresent(measure.rawValue),
          leastPersons: question.leastPersons))
    }
  }
}

/// One of a month's totals.
struct SummaryRow: Equatable, Sendable {
  let measure: SummaryMeasure
  /// Nil: hidden, since it is of fewer persons than `leastPersons`.
  let value: Int64?
  let leastPersons: Int
}

/// What is totalled, in the order of the report.
enum SummaryMeasure: String, Sendable, CaseIterable {
  case users
  case activeUsers = "active_users"
  case used
  case over
  case analysed
  case open
  case failed
  case cancelled
  case refunded
  case refused
  case calls
  case adjusted
  case throat
  case ear
  case serious
  case consult
  case withoutCondition = "without_condition"
  case normal
  case green
  case yellow
  case orange
  case red
}

/// Whose usage `report usage` shows, and in which rows.
struct UsageArguments: Sendable {
  let clinic: String?
  let user: String?
  let hasIdleUsers: Bool
  let hasPrices: Bool
  /// What a row is of; nil for a row a user.
  let grouping: UsageScope.Grouping?
  /// The days that are added up; nil for all of the month.
  let days: ClosedRange<CivilDate>?

  /// Reads what is given, and refuses what contradicts itself.
  init(_ context: ControlContext, format: ReportFormat) throws {
    if try context[ReportCommand.due] != nil { try Self.checkAlone(context.values) }
    clinic = try context[ReportCommand.clinic]
    user = try context[ReportCommand.user]
    hasIdleUsers = try context[ReportCommand.allUsers]
    hasPrices = try context[ReportCommand.prices]
    grouping = try context[ReportCommand.grouping]
    days = try Self.days(from: try context[ReportCommand.from], to: try context[ReportCommand.to])
    if grouping == nil, days != nil {
      throw CommandFailure.usage(
        "--from and --to need --by", advice: "Give --by day, clinic, plan or type; or a --month.")
    }
    if days != nil { try Self.refuse(ReportCommand.month, "--from", context.values) }
    if grouping != nil {
      try Self.refuse(ReportCommand.zone, "--by", context.values)
      try Self.refuse(ReportCommand.allUsers, "--by", context.values)
      try Self.refuse(ReportCommand.prices, "--by", context.values)
    }
    if hasIdleUsers, format != .table {
      throw CommandFailure.usage("--all-users is of use only with a table: CSV and JSON have every user")
    }
  }

  /// `--due` decides months, users, form and files by itself.
  private static func checkAlone(_ values: Values) throws(CommandFailure) {
    let others: [any Input] = [
      ReportCommand.month, ReportCommand.format, ReportCommand.out, ReportCommand.from, ReportCommand.to,
      ReportCommand.grouping, ReportCommand.clinic, ReportCommand.user, ReportCommand.allUsers,
    ]
    for other in others { try refuse(other, "--due", values) }
  }

  /// The month of the first day; nil where the month is asked for.
  var firstMonth: Period? { days.flatMap { Period(year: $0.lowerBound.year, month: $0.lowerBound.month) } }

  /// The scope of a month, which is that of the first day.
  func scope(_ month: Period) -> UsageScope {
    UsageScope(
      clinic: clinic, user: user, hasIdleUsers: hasIdleUsers, hasPrices: hasPrices,
      groups: grouping.map { grouping in
        days.map { .init(by: grouping, $0) } ?? .init(by: grouping, month)
      })
  }

  private static func days(from: String?, to: String?) throws(CommandFailure) -> ClosedRange<CivilDate>? {
    guard from != nil || to != nil else { return nil }
    guard let first = from.flatMap(CivilDate.init), let last = to.flatMap(CivilDate.init) else {
      throw .usage("--from and --to are given together", advice: "Both days count; one day is both.")
    }
    guard first <= last else { throw .usage("--to \(last) is before --from \(first)") }
    let count = last.number - first.number + 1
    guard count <= UsageScope.Groups.mostDays else {
      throw .usage(
        "\(first) to \(last) are \(count) days, and at most \(UsageScope.Groups.mostDays) are added up at once"
      )
    }
    guard [first, last].allSatisfy({ Period(year: $0.year, month: $0.month) != nil }) else {
      throw .usage("\(first) to \(last) are not of the years 2000 to 2699")
    }
    return first...last
  }

  /// Refuses another input beside one that decides what that one says.
  private static func refuse(_ input: some Input, _ name: String, _ values: Values) throws(CommandFailure) {
    guard values.source(of: input) == .commandLine else { return }
    throw .usage("\(name) and \(input.definition.spelling) cannot be given together")
  }
}
