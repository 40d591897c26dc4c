import PostgreSQL
import Support

/// A way to write a report: it appends bytes, whole lines at a time, and holds no more than it must.
///
/// Called by the writer: once `begin`, then `sum` where there is one, then `row` for each row in order, then once
/// `end`.
protocol ReportView: Sendable {
  /// Which columns it is given.
  var audience: Column.Audience { get }
  /// Writes what comes before the first row.
  mutating func begin(_ columns: [Column], into bytes: inout [UInt8])
  /// Takes the sum of the rows that follow. Views for programs leave it out: they add up themselves.
  mutating func sum(_ cells: [ReportCell], at shown: [Int])
  /// Writes one row: of its cells those at some indices, as many as there are columns.
  mutating func row(_ cells: [ReportCell], at shown: [Int], into bytes: inout [UInt8])
  /// Writes what comes after the last row.
  mutating func end(_ meta: ReportMeta, into bytes: inout [UInt8])
}

extension ReportView {
  mutating func sum(_ cells: [ReportCell], at shown: [Int]) {}
}

extension ReportFormat {
  /// The view that writes this format: a new format is one more view here.
  func view(for request: ReportRequest) -> any ReportView {
    switch self {
    case .table: TableView(width: request.width)
    case .csv: CSVView(excel: request.excel)
    case .json: JSONView()
    }
  }
}

/// What a report is, beside its rows; known in full when the last row is written.
struct ReportMeta: Equatable, Sendable {
  let kind: ReportKind
  let month: Period
  /// The last of several months; nil for one.
  var lastMonth: Period?
  /// The zone in which times are shown; nil for each user's billing zone.
  let zone: String?
  let state: ReportState
  /// The moment of the report in UTC as RFC 3339 has it: for a closed statement the moment of its closing,
  /// so that it comes out the same for ever.
  let generatedAt: String
  /// Since when results of the month have been removed; nil while it is whole, or where that changes nothing.
  var removedSince: Timestamp?
  var rows = 0
  /// Whose usage it has, and in which rows.
  var scope = UsageScope()

  /// The month, or the first and the last: `2026-09 to 2026-11`.
  var monthText: String { lastMonth.map { "\(month) to \($0)" } ?? month.description }

  /// The zone as JSON names it.
  var zoneText: String { zone ?? "billing" }

  /// The fields in the order in which they are written.
  var fields: [JSONValue.Member] {
    [.init(name: "report", value: .string(kind.rawValue))] + span + holder
      + [
        .init(name: "rows", value: .count(rows)), .init(name: "generated_at", value: .string(generatedAt)),
      ] + removal
  }

  /// The month, or the days and how they are added up, which have no state: they are as they are now.
  private var span: [JSONValue.Member] {
    guard !kind.isOfReviews else {
      return [
        .init(name: "from", value: .string(month.description)),
        .init(name: "to", value: .string((lastMonth ?? month).description)),
      ]
    }
    guard let groups = scope.groups else {
      return [
        .init(name: "month", value: .string(month.description)),
        .init(name: "zone", value: .string(zoneText)),
        .init(name: "state", value: .string(state.rawValue)),
      ]
    }
    return [
      .init(name: "by", value: .string(groups.by.rawValue)),
      .init(name: "from", value: .string(groups.days.lowerBound.description)),
      .init(name: "to", value: .string(groups.days.upperBound.description)),
      .init(name: "zone", value: .string(zoneText)),
    ]
  }

  /// The clinic and the user, where the report is of one.
  private var holder: [JSONValue.Member] {
    [("clinic", scope.clinic), ("user", scope.user)].compactMap { name, value in
      value.map { .init(name: name, value: .string($0)) }
    }
  }

  /// What a file without rows would not tell: that there were some.
  private var removal: [JSONValue.Member] {
    guard let removedSince else { return [] }
    let moment = removedSince.rfc3339
    return [.init(name: "results_removed_since", value: .string(moment))]
  }
}

/// One column of a report.
struct Column: Equatable, Sendable {
  /// Where a table puts its cells.
  enum Alignment: Sendable {
    case left
    case right
  }

  /// Who sees the column.
  enum Audience: Sendable {
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
  /// A number that names something and is not calculated with; text in JSON, where it may be larger than
  /// the whole numbers that JavaScript holds.
  case identifier(Int64)
  case integer(Int64)
  case decimal(Double)
  /// A number that is kept as its decimal digits, as an amount of money is.
  case number(DecimalText)
  /// A whole percentage, written with its sign.
  case percentage(Int64)
  /// A moment, written as the clocks of its zone show it.
  case time(LocalTime)
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

/// One JSON object: `data` with an object a row, and `meta`, which comes last because the number of rows is
/// known only then.
struct JSONView: ReportView {
  let audience = Column.Audience.programs
  private var keys: [[UInt8]] = []
  private var isFirst = true

  mutating func begin(_ columns: [Column], into bytes: inout [UInt8]) {
    keys = columns.map { column in
      var key: [UInt8] = []
      JSONWriter.append(column.name, to: &key)
      key.append(UInt8(ascii: ":"))
      return key
    }
    bytes.append(contentsOf: "{\"data\":[".utf8)
  }

  /// A hidden number is null, and the row names its columns in `hidden`.
  mutating func row(_ cells: [ReportCell], at shown: [Int], into bytes: inout [UInt8]) {
    var hidden: [UInt8] = []
    bytes.append(contentsOf: (isFirst ? "\n{" : ",\n{").utf8)
    isFirst = false
    for (position, index) in shown.enumerated() {
      if position > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes.append(contentsOf: keys[position])
      Self.append(cells[index], to: &bytes)
      guard case .hidden = cells[index] else { continue }
      if !hidden.isEmpty { hidden.append(UInt8(ascii: ",")) }
      hidden += keys[position].dropLast()
    }
    if !hidden.isEmpty {
      bytes.append(contentsOf: ",\"hidden\":[".utf8)
      bytes += hidden
      bytes.append(UInt8(ascii: "]"))
    }
    bytes.append(UInt8(ascii: "}"))
  }

  mutating func end(_ meta: ReportMeta, into bytes: inout [UInt8]) {
    bytes.append(contentsOf: (isFirst ? "],\n" : "\n],\n").utf8)
    bytes.append(contentsOf: "\"meta\":".utf8)
    bytes += JSONValue.object(meta.fields).bytes
    bytes.append(contentsOf: "}\n".utf8)
  }

  private static func append(_ cell: ReportCell, to bytes: inout [UInt8]) {
    switch cell {
    case .absent, .unlimited, .hidden: bytes.append(contentsOf: "null".utf8)
    case .text(let text): JSONWriter.append(text, to: &bytes)
    case .identifier(let number): JSONWriter.append(String(number), to: &bytes)
    case .integer(let number): DigitText.append(number, to: &bytes)
    case .decimal(let number): DigitText.append(number, to: &bytes)
    // As text: most readers of JSON make a binary number of the other form.
    case .number(let number): JSONWriter.append(number.description, to: &bytes)
    case .percentage(let number): JSONWriter.append("\(number)%", to: &bytes)
    case .time(let time): JSONWriter.append(time.text, to: &bytes)
    case .boolean(let yes): bytes.append(contentsOf: (yes ? "true" : "false").utf8)
    }
  }
}
