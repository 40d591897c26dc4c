import AnalysisCore

/// A row a condition; the normal ones stand last, marked.
struct ConditionsPresenter: ReportPresenter {
  static let columns: [Column] = [
    .words("month", "Month"),
    .words("condition", "Condition"),
    .words("name", "Name"),
    .words("normal", "Normal"),
    .number("green", "Green"),
    .number("yellow", "Yellow"),
    .number("orange", "Orange"),
    .number("red", "Red"),
    .number("total", "Total"),
  ]

  static func put(_ row: ConditionsResponse, into cells: inout [Cell]) {
    cells += [
      .text(row.month.description), .text(row.id), .text(row.name), .boolean(row.isNormal),
      .integer(row.green), .integer(row.yellow), .integer(row.orange), .integer(row.red),
      .integer(row.total),
    ]
  }
}
