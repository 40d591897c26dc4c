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
      ReportCell(row.planName), limit(row, row.limit), .integer(row.used), limit(row, row.remaining),
      .integer(row.over), ReportCell(row.analysed), ReportCell(row.open), ReportCell(row.failed),
      ReportCell(row.cancelled),
      .integer(row.refunded), .integer(row.refused), ReportCell(row.calls), ReportCell(row.lastReset),
      ReportCell(row.zone),
    ]
  }

  static func isSum(_ row: UsageRow) -> Bool { row.line == .sum }
  static func openJobs(_ row: UsageRow) -> Int64? { isSum(row) ? row.open : nil }

  /// A number of the limit: an adjustment has none, and where a month has none there is no limit.
  private static func limit(_ row: UsageRow, _ number: Int64?) -> ReportCell {
    if let number { return .integer(number) }
    return row.line == .month && row.plan != nil ? .unlimited : .absent
  }

  static func statement(for question: ReportQuestion) -> SQLStatement {
    SQLStatement(
      SQLFunction(
        "usage_lines", 6, "user_ref", "for_period", "plan", "plan_name", "monthly_limit", "used", "over",
        "analysed", "open", "failed", "cancelled", "refunded", "refused", "calls", "last_reset",
        "last_reset_local",
        "zone"
      ).text,
      [
        .int16(question.month.label), .text(question.zone), .timestamp(question.moment),
        .text(question.scope.clinic), .text(question.scope.user), .bool(question.scope.hasIdleUsers),
      ],
      label: "the usage report")
  }

  static func read(_ row: Row, of question: ReportQuestion, each: (UsageRow) throws -> Void) throws {
    let month = try row.int16IfPresent("for_period") == nil ? nil : try row.period("for_period")
    try each(
      UsageRow(
        user: try row.stringIfPresent("user_ref") ?? "Total", month: month,
        line: month.map { $0 == question.month ? .month : .adjustment } ?? .sum,
        plan: try row.stringIfPresent("plan"), planName: try row.stringIfPresent("plan_name"),
        limit: try row.int64IfPresent("monthly_limit"), used: try row.int64("used"),
        over: try row.int64("over"),
        analysed: try row.int64IfPresent("analysed"), open: try row.int64IfPresent("open"),
        failed: try row.int64IfPresent("failed"),
        cancelled: try row.int64IfPresent("cancelled"), refunded: try row.int64("refunded"),
        refused: try row.int64("refused"), calls: try row.int64IfPresent("calls"),
        lastReset: month == nil
          ? nil : LocalTime(try row.timestamp("last_reset"), local: try row.timestamp("last_reset_local")),
        zone: try row.stringIfPresent("zone")))
  }
}

/// What one user used in one month, or all of them together.
struct UsageRow: Equatable, Sendable {
  /// What a row is about.
  enum Line: String, Sendable {
    /// The month itself.
    case month
    /// What changed in an earlier month since it was stated.
    case adjustment
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
  /// by how much it changed.
  let used: Int64
  /// Units used beyond the limit at the month's end, which a limit lowered within the month brings about.
  let over: Int64
  /// Jobs with a result; nil on adjustments, as the others that do not touch a bill.
  let analysed: Int64?
  /// Jobs without a result that did not fail: what is used is either analysed or open.
  let open: Int64?
  let failed: Int64?
  let cancelled: Int64?
  /// Units refunded for jobs that died or were cancelled.
  let refunded: Int64
  /// Submits refused by the quota.
  let refused: Int64
  /// Calls of the endpoint, repeated ones among them.
  let calls: Int64?
  /// When the month began for this user; nil for the sum.
  let lastReset: LocalTime?
  /// The user's billing zone; nil for the sum.
  let zone: String?

  /// Units that may still be taken; nil without a limit.
  var remaining: Int64? { limit.map { max(0, $0 - used) } }
}
