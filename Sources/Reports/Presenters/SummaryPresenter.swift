/// A row a total, in an order that never changes.
struct SummaryPresenter: ReportPresenter {
  static let columns: [Column] = [
    .words("measure", "Measure", for: .programs),
    .words("label", "Total", for: .people),
    .number("value", "Value"),
  ]

  static func put(_ row: SummaryResponse, into cells: inout [Cell]) {
    cells += [.text(row.measure.rawValue), .text(label(row.measure)), .integer(row.value)]
  }

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
}
