import Formatting

/// Comma-separated values as RFC 4180 has them: CRLF after every line, a header always, UTF-8.
///
/// Words that a spreadsheet would take for a formula get an apostrophe before them, which is what
/// spreadsheets themselves use for "this is text". Numbers are left alone, the negative ones too. A missing
/// value is an empty cell, an empty text a quoted one.
struct CSVView: ReportView {
  /// Whether the file begins with a byte order mark.
  let excel: Bool
  let audience = Column.Audience.programs

  mutating func begin(_ columns: [Column], into bytes: inout [UInt8]) {
    if excel { bytes.append(contentsOf: [0xEF, 0xBB, 0xBF]) }
    row(columns.map { .text($0.name) }, at: Array(columns.indices), into: &bytes)
  }

  mutating func row(_ cells: [Cell], at shown: [Int], into bytes: inout [UInt8]) {
    var isFirst = true
    for place in shown {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      Self.append(cells[place], to: &bytes)
    }
    bytes.append(UInt8(ascii: "\r"))
    bytes.append(UInt8(ascii: "\n"))
  }

  mutating func end(_ meta: ReportMeta, into bytes: inout [UInt8]) {}

  private static func append(_ cell: Cell, to bytes: inout [UInt8]) {
    switch cell {
    case .absent, .unlimited: break
    case .text(let text): CSVText.append(text, to: &bytes)
    case .borrowed(let text): CSVText.append(text, to: &bytes)
    case .identifier(let number), .integer(let number): DigitText.append(number, to: &bytes)
    case .decimal(let number): DigitText.append(number, to: &bytes)
    case .percentage(let number):
      DigitText.append(number, to: &bytes)
      bytes.append(UInt8(ascii: "%"))
    case .time(let time): time.append(to: &bytes)
    case .boolean(let yes): bytes.append(contentsOf: (yes ? "true" : "false").utf8)
    }
  }
}
