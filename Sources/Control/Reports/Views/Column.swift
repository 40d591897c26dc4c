import PostgreSQL
import Support

/// One column of a report.
struct Column: Equatable, Sendable {
  /// Where a table puts its cells.
  enum Alignment: Sendable {
    /// For text.
    case left
    /// For numbers.
    case right
  }

  /// Who sees the column.
  enum Audience: Sendable {
    /// Programs and people.
    case everyone
    /// CSV and JSON only: what would make a table too wide to read.
    case programs
    /// Tables only: what programs have in other columns.
    case people
  }

  /// The name in CSV's header and JSON's objects; it never changes, since programs read it.
  let name: String
  /// The heading for people.
  let heading: String
  /// Where a table puts its cells.
  let alignment: Alignment
  /// Who sees it.
  let audience: Audience
  /// Whether a table may cut its cells where there is no room: text can be cut, numbers would be others.
  let mayBeCut: Bool

  /// A column of text.
  static func text(_ name: String, _ heading: String, for audience: Audience = .everyone) -> Column {
    Column(name: name, heading: heading, alignment: .left, audience: audience, mayBeCut: true)
  }

  /// A column of numbers that name something.
  static func identifier(_ name: String, _ heading: String, for audience: Audience = .everyone) -> Column {
    Column(name: name, heading: heading, alignment: .left, audience: audience, mayBeCut: false)
  }

  /// A column of numbers.
  static func number(_ name: String, _ heading: String, for audience: Audience = .everyone) -> Column {
    Column(name: name, heading: heading, alignment: .right, audience: audience, mayBeCut: false)
  }

  /// Whether a view for some audience shows the column.
  func isShown(to reader: Audience) -> Bool {
    audience == .everyone || audience == reader
  }
}

/// One value of a row, ready for every view: a view decides how it is written, never what it says.
enum ReportCell: Equatable, Sendable {
  /// Nothing is known or nothing applies.
  case absent
  /// No number, because there is no limit: empty to programs, a word to people.
  case unlimited
  /// Text, which may come from outside and are made harmless by the view.
  case text(String)
  /// Such text where the server's answer has them.
  case borrowed(BorrowedText)
  /// A number that names something and is not calculated with; text in JSON, where it may be larger than
  /// the whole numbers that JavaScript holds.
  case identifier(Int64)
  /// A count.
  case integer(Int64)
  /// A measured number.
  case decimal(Double)
  /// A number that is kept as its decimal digits, as an amount of money is.
  case number(DecimalText)
  /// A whole percentage, written with its sign.
  case percentage(Int64)
  /// A moment, written as the clocks of its zone show it.
  case time(LocalTime)
  /// Yes or no.
  case boolean(Bool)
  /// A number that is hidden, since it is of fewer persons than this, or would give such a number away.
  case hidden(below: Int)

  /// A count that may be missing.
  init(_ value: Int64?) {
    self = value.map(ReportCell.integer) ?? .absent
  }

  /// Text that may be missing.
  init(_ value: String?) {
    self = value.map(ReportCell.text) ?? .absent
  }

  /// Text of the server's answer that may be missing.
  init(_ value: BorrowedText?) {
    self = value.map(ReportCell.borrowed) ?? .absent
  }

  /// A moment that may be missing.
  init(_ value: LocalTime?) {
    self = value.map(ReportCell.time) ?? .absent
  }

  /// A yes or no that may be missing.
  init(_ value: Bool?) {
    self = value.map(ReportCell.boolean) ?? .absent
  }

  /// Decimal digits that may be missing.
  init(_ value: DecimalText?) {
    self = value.map(ReportCell.number) ?? .absent
  }

  /// A measured number that may be missing.
  init(_ value: Double?) {
    self = value.map(ReportCell.decimal) ?? .absent
  }
}

extension ReportCell {
  /// A count; nil: it is hidden from who sees counts of so many persons and more.
  static func count(_ value: Int64?, leastPersons: Int) -> ReportCell {
    value.map(ReportCell.integer) ?? .hidden(below: leastPersons)
  }

  /// What stands in the place of a hidden number: `<5`.
  static func hiddenText(below leastPersons: Int) -> String { "<\(leastPersons)" }
}
