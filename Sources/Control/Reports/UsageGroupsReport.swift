import PostgreSQL
import Queue
import Support

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

  /// What people read.
  var label: String { name ?? (isSum ? "Total" : remainder) }
}
