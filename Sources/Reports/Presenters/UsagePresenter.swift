import AnalysisCore

/// A row a user, and in a closed month a row an adjustment of an earlier month.
struct UsagePresenter: ReportPresenter {
  static let columns: [Column] = [
    .words("user", "User"),
    .words("month", "Month"),
    .words("line", "Line", for: .programs),
    .words("plan", "Plan", for: .programs),
    .words("plan_name", "Plan"),
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
    .words("last_reset", "Last reset"),
    .words("zone", "Zone", for: .programs),
  ]

  static func put(_ row: UsageResponse, into cells: inout [Cell]) {
    cells += [
      .text(row.user), .text(row.month.description), .text(row.line.rawValue), Cell(row.plan),
      Cell(row.planName), limit(row, row.limit), .integer(row.used), limit(row, row.remaining),
      .integer(row.over), Cell(row.analysed), Cell(row.open), Cell(row.failed), Cell(row.cancelled),
      .integer(row.refunded), .integer(row.refused), Cell(row.calls), .time(row.lastReset),
      .text(row.zone),
    ]
  }

  /// A number of the limit: an adjustment has none, and where a month has none there is no limit.
  private static func limit(_ row: UsageResponse, _ number: Int64?) -> Cell {
    if let number { return .integer(number) }
    return row.line == .month && row.plan != nil ? .unlimited : .absent
  }
}
