import PostgreSQL
import Queue
import Support

/// How often each condition was found: a row a condition; the normal ones stand last, marked.
enum ConditionsReport: RowReport {
  /// The columns, in an order that never changes.
  static let columns: [Column] = [
    .text("month", "Month"),
    .text("condition", "Condition"),
    .text("name", "Name"),
    .text("normal", "Normal"),
    .number("green", "Green"),
    .number("yellow", "Yellow"),
    .number("orange", "Orange"),
    .number("red", "Red"),
    .number("total", "Total"),
  ]

  static func put(_ row: ConditionsRow, into cells: inout [ReportCell]) {
    cells += [.text(row.month.description), .text(row.id), .text(row.name), .boolean(row.isNormal)]
    cells += [row.green, row.yellow, row.orange, row.red, row.total].map {
      .count($0, leastPersons: row.leastPersons)
    }
  }

  static func statement(for question: ReportQuestion) -> SQLStatement {
    SQLStatement(
      SQLFunction(
        "report_conditions", 2, "id", "name", "normal", "green", "yellow", "orange", "red", "total"
      ).text,
      [.int16(question.month.label), .text(question.reading)], label: "the report of conditions")
  }

  static func read(_ row: Row, of question: ReportQuestion, each: (ConditionsRow) throws -> Void) throws {
    try each(
      ConditionsRow(
        month: question.month, id: try row.string("id"), name: try row.string("name"),
        isNormal: try row.bool("normal"), green: try row.int64IfPresent("green"),
        yellow: try row.int64IfPresent("yellow"),
        orange: try row.int64IfPresent("orange"), red: try row.int64IfPresent("red"),
        total: try row.int64IfPresent("total"),
        leastPersons: question.leastPersons))
  }
}

/// How often one condition was found in a month, counted over all conditions of each analysis.
struct ConditionsRow: Equatable, Sendable {
  let month: Period
  let id: String
  /// The name among people; of several, the first in byte order.
  let name: String
  /// Whether it is the absence of a finding. An id that was normal at one time and a finding at another has
  /// a row for each.
  let isNormal: Bool
  let green: Int64?
  let yellow: Int64?
  let orange: Int64?
  let red: Int64?
  /// How often in all; nil, as before it: hidden, since it is of fewer persons than `leastPersons`.
  let total: Int64?
  let leastPersons: Int
}
