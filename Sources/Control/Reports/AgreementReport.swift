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
  /// The verdicts.
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

  /// What people read.
  var label: String { condition?.name ?? (isSum ? "All" : "Without a condition") }
  /// The band, as people read it: a normal condition has none, which would alarm by being sure.
  var mark: String? { condition.map { $0.isNormal ? "normal" : $0.band.rawValue } }
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
    share.map { .percentage(Int64(($0 * 100).rounded())) } ?? .absent
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
