import PostgreSQL
import Queue
import Support

/// Whether a confidence of 80 % means that clinicians agree in 80 of 100: a row a tenth, and all together.
enum CalibrationReport: RowReport {
  /// The columns, in an order that never changes.
  static let columns: [Column] =
    [
      .number("from", "From", for: .programs),
      .number("to", "To", for: .programs),
      .text("label", "Tenth", for: .people),
      .number("confidence", "Mean", for: .programs),
      .number("confidence_shown", "Mean", for: .people),
      .number("agree", "Agree"),
      .number("disagree", "Disagree"),
      .number("unsure", "Unsure"),
      .number("persons", "Persons"),
    ] + VerdictCounts.shareColumns + [
      .number("error", "Error", for: .programs),
      .number("error_shown", "Error", for: .people),
    ]

  static func put(_ row: CalibrationRow, into cells: inout [ReportCell]) {
    let ends = row.tenth.map { [Double($0 - 1) / 10, Double($0) / 10] }
    cells += [ReportCell(ends?[0]), ReportCell(ends?[1]), .text(row.label)]
    let hidden = row.hidesMean ? ReportCell.hidden(below: row.counts.leastPersons) : nil
    cells += [hidden ?? ReportCell(row.confidence), hidden ?? VerdictCounts.percentage(row.confidence)]
    cells += row.counts.cells
    cells += [hidden ?? ReportCell(row.error), hidden ?? ReportCell(row.errorText)]
  }

  static func statement(for question: ReportQuestion) -> SQLStatement {
    SQLStatement(
      SQLFunction("calibration_report", 3).text,
      [.int16(question.month.label), .int16(question.lastMonth.label), .text(question.reading)],
      label: "the report of calibration")
  }

  static func read(_ row: Row, of question: ReportQuestion, each: (CalibrationRow) throws -> Void) throws {
    try each(row.decode(CalibrationRow.self, beside: ["leastPersons": question.leastPersons]))
  }
}

/// What clinicians say of analyses with about the same confidence.
struct CalibrationRow: Equatable, Sendable, Decodable {
  /// Which tenth of the confidences from 0 to 1 it is, from 1; nil for all together.
  let tenth: Int?
  /// The mean confidence of what they agree or disagree with; nil where there is none, or where it is hidden.
  let confidence: Double?
  /// The verdicts.
  let counts: VerdictCounts
  /// By how much confidence and agreement differ. Of all together it is the expected calibration error: the mean of
  /// that of the tenths, each weighted by its verdicts.
  let error: Double?

  /// Whether confidence and error are hidden: with the verdicts, and of all together also where those of a tenth are.
  var hidesMean: Bool {
    guard let shown = counts.shown else { return true }
    return shown.agree + shown.disagree > 0 && error == nil
  }

  /// The difference with a digit behind the point: `4.6%`; nil where there is none.
  var errorText: String? {
    error.map { error in
      let thousandths = Int((error * 1000).rounded())
      return "\(thousandths / 10).\(thousandths % 10)%"
    }
  }

  /// What people read: `70-80 %`; the upper end belongs to the next, but for the last.
  var label: String { tenth.map { "\($0 * 10 - 10)-\($0 * 10) %" } ?? "All" }
}
