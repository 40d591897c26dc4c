import PostgreSQL
import Queue
import Support

/// How often clinicians agree with the primary condition: a row a condition and band, then what was reviewed of
/// analyses without a condition, and all together.
enum AgreementReport: RowReport {
  /// The columns, in an order that never changes.
  static let columns: [Column] =
    [
      .text("row", "Row", for: .programs),
      .text("condition", "Condition", for: .programs),
      .text("name", "Name", for: .programs),
      .text("label", "Condition", for: .people),
      .text("normal", "Normal", for: .programs),
      .text("band", "Band", for: .programs),
      .text("mark", "Band", for: .people),
      .number("agree", "Agree"),
      .number("disagree", "Disagree"),
      .number("unsure", "Unsure"),
      .number("persons", "Persons"),
    ] + VerdictCounts.shareColumns

  static func put(_ row: AgreementRow, into cells: inout [ReportCell]) {
    cells += [
      .text(row.subject.name), ReportCell(row.condition?.id), ReportCell(row.condition?.name),
      .text(row.label),
      ReportCell(row.condition?.isNormal), ReportCell(row.condition?.band.rawValue), ReportCell(row.mark),
    ]
    cells += row.counts.cells
  }

  static func statement(for question: ReportQuestion) -> SQLStatement {
    SQLStatement(
      SQLFunction("agreement_report", 3).text,
      [.int16(question.month.label), .int16(question.lastMonth.label), .text(question.reading)],
      label: "the report of agreement")
  }

  static func read(_ row: Row, of question: ReportQuestion, each: (AgreementRow) throws -> Void) throws {
    try each(row.decode(AgreementRow.self, beside: ["leastPersons": question.leastPersons]))
  }
}

/// What clinicians say of one condition in one band.
struct AgreementRow: Equatable, Sendable {
  /// A primary condition, as it is stored with the results.
  struct Condition: Equatable, Sendable, RenamedColumns {
    static let columns = ["isNormal": "normal"]

    /// Its id at the endpoint.
    let id: String
    /// Its name; of several, the first in byte order.
    let name: String
    /// Whether it is the absence of a finding.
    let isNormal: Bool
    /// How sure the endpoint was.
    let band: ConfidenceBand
  }

  /// The condition; nil where none was found, and for the sum.
  let condition: Condition?
  /// Whether this is all together.
  let isSum: Bool
  let counts: VerdictCounts

  /// What programs tell the rows apart by.
  enum Subject {
    case condition, none, all

    var name: String {
      switch self {
      case .condition: "condition"
      case .none: "none"
      case .all: "all"
      }
    }
  }

  var subject: Subject { isSum ? .all : condition == nil ? .none : .condition }

  var label: String { condition?.name ?? (isSum ? "All" : "Without a condition") }
  /// The band, as people read it.
  var mark: String? { condition.flatMap { ConditionMark($0.band, isNormal: $0.isNormal)?.rawValue } }
}

extension AgreementRow: Decodable {
  private enum CodingKeys: CodingKey { case row, id, condition, counts }

  /// Reads a row, which has no id where it is of no condition.
  init(from decoder: any Decoder) throws {
    let columns = try decoder.container(keyedBy: CodingKeys.self)
    condition =
      try columns.decodeNil(forKey: .id) ? nil : columns.decode(Condition.self, forKey: .condition)
    isSum = try columns.decode(String.self, forKey: .row) == "all"
    counts = try columns.decode(VerdictCounts.self, forKey: .counts)
  }
}

/// Verdicts and how far they agree. What is hidden has no numbers.
struct VerdictCounts: Equatable, Sendable {
  /// The numbers, where they are shown.
  struct Shown: Equatable, Sendable, Decodable {
    /// Verdicts by what they say. Where several clinicians reviewed a job, each counts.
    let agree, disagree, unsure: Int64
    /// Users whose analyses they are of, each once.
    let persons: Int64
    /// The share of those who agree among those who agree or disagree; nil where nobody does either.
    let agreement: Double?
    /// Between which shares the true one lies, with 95 % confidence (Wilson).
    let low, high: Double?
  }

  /// The numbers; nil: hidden.
  let shown: Shown?
  /// From how many persons on they would be shown.
  let leastPersons: Int

  /// What stands in the place of what is hidden: `<5`.
  var hiddenText: String { ReportCell.hiddenText(below: leastPersons) }

  /// The share of those who agree with its interval: with four digits to programs, as percentages to people.
  static let shareColumns: [Column] = [
    .number("agreement", "Agreement", for: .programs),
    .number("low", "Low", for: .programs),
    .number("high", "High", for: .programs),
    .number("agreement_shown", "Agreement", for: .people),
    .number("low_shown", "Low", for: .people),
    .number("high_shown", "High", for: .people),
  ]

  /// Agree, disagree, unsure, persons, and the share with its interval.
  var cells: [ReportCell] {
    guard let shown else { return (0..<10).map { _ in .hidden(below: leastPersons) } }
    let shares = [shown.agreement, shown.low, shown.high]
    return [
      .integer(shown.agree), .integer(shown.disagree), .integer(shown.unsure), .integer(shown.persons),
    ] + shares.map { ReportCell($0) } + shares.map(Self.percentage)
  }

  /// A share as a whole percentage.
  static func percentage(_ share: Double?) -> ReportCell {
    share.map { .percentage(Int64(wholePercentage($0))) } ?? .absent
  }
}

extension VerdictCounts: Decodable {
  private enum CodingKeys: CodingKey { case hidden, leastPersons, shown }

  /// Reads the numbers, unless they are hidden.
  init(from decoder: any Decoder) throws {
    let columns = try decoder.container(keyedBy: CodingKeys.self)
    leastPersons = try columns.decode(Int.self, forKey: .leastPersons)
    shown =
      try columns.decode(Bool.self, forKey: .hidden) ? nil : columns.decode(Shown.self, forKey: .shown)
  }
}

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
