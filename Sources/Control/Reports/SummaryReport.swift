import PostgreSQL
import Queue
import Support

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
