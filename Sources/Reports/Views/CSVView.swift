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
    row(columns.map { .text($0.name) }, into: &bytes)
  }

  mutating func row(_ cells: [Cell], into bytes: inout [UInt8]) {
    var isFirst = true
    for cell in cells {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      Self.append(cell, to: &bytes)
    }
    bytes.append(UInt8(ascii: "\r"))
    bytes.append(UInt8(ascii: "\n"))
  }

  mutating func end(_ meta: ReportMeta, into bytes: inout [UInt8]) {}

  private static func append(_ cell: Cell, to bytes: inout [UInt8]) {
    switch cell {
    case .absent, .unlimited: break
    case .text(let text): append(CellText.guarded(CellText.printable(text, keepingLines: true)), to: &bytes)
    case .identifier(let number), .integer(let number): bytes.append(contentsOf: String(number).utf8)
    case .decimal(let number): bytes.append(contentsOf: String(describing: number).utf8)
    case .boolean(let yes): bytes.append(contentsOf: (yes ? "true" : "false").utf8)
    }
  }

  /// Writes words, in quotation marks when they hold anything that ends a cell or that a reader might trim.
  private static func append(_ text: String, to bytes: inout [UInt8]) {
    let utf8 = text.utf8
    let mustQuote =
      utf8.isEmpty || utf8.first == 0x20 || utf8.last == 0x20
      || utf8.contains { $0 == 0x2C || $0 == 0x22 || $0 == 0x0D || $0 == 0x0A || $0 == 0x09 }
    guard mustQuote else {
      bytes.append(contentsOf: utf8)
      return
    }
    bytes.append(0x22)
    for byte in utf8 {
      if byte == 0x22 { bytes.append(0x22) }
      bytes.append(byte)
    }
    bytes.append(0x22)
  }
}
