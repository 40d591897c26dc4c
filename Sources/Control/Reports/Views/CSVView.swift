import Support

/// Comma-separated values as RFC 4180 has them: CRLF after every line, a header always, UTF-8.
///
/// Text that a spreadsheet would take for a formula get an apostrophe before them, which is what
/// spreadsheets themselves use for "this is text". So do those after a semicolon, a tab or a line end within a cell:
/// where a spreadsheet takes semicolons or tabs for what separates cells, it sees no quotation marks in the middle of
/// a line, and a new cell begins there. Numbers are left alone, the negative ones too. A missing
/// value is an empty cell, an empty text a quoted one.
struct CSVView: ReportView {
  /// Whether the file is for Excel: it begins with a byte order mark, and what names something stays text there.
  let excel: Bool
  let audience = Column.Audience.programs

  mutating func begin(_ columns: [Column], into bytes: inout [UInt8]) {
    if excel { bytes.append(contentsOf: [0xEF, 0xBB, 0xBF]) }
    row(columns.map { .text($0.name) }, at: Array(columns.indices), into: &bytes)
  }

  mutating func row(_ cells: [ReportCell], at shown: [Int], into bytes: inout [UInt8]) {
    var isFirst = true
    for index in shown {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      append(cells[index], to: &bytes)
    }
    bytes.append(UInt8(ascii: "\r"))
    bytes.append(UInt8(ascii: "\n"))
  }

  mutating func end(_ meta: ReportMeta, into bytes: inout [UInt8]) {}

  private func append(_ cell: ReportCell, to bytes: inout [UInt8]) {
    switch cell {
    case .absent, .unlimited: break
    case .text(let text) where excel: CSVText.append(kept: text, to: &bytes)
    case .identifier(let number) where excel: CSVText.append(kept: String(number), to: &bytes)
    case .text(let text): CSVText.append(text, to: &bytes)
    case .identifier(let number), .integer(let number): DigitText.append(number, to: &bytes)
    case .decimal(let number): DigitText.append(number, to: &bytes)
    case .number(let number): bytes.append(contentsOf: number.description.utf8)
    case .percentage(let number):
      DigitText.append(number, to: &bytes)
      bytes.append(UInt8(ascii: "%"))
    case .time(let time): time.append(to: &bytes)
    case .boolean(let yes): bytes.append(contentsOf: (yes ? "true" : "false").utf8)
    case .hidden(let least): bytes.append(contentsOf: ReportCell.hiddenText(below: least).utf8)
    }
  }
}

/// Text as a cell of CSV.
enum CSVText {
  /// Appends text, harmless to spreadsheets and quoted where they must be.
  static func append(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    if text.withUTF8({ appendPlain($0, to: &bytes) }) { return }
    appendSifted(text, to: &bytes)
  }

  /// Appends text so that Excel keeps it: digits that it would take for another number are the text of a formula.
  static func append(kept text: String, to bytes: inout [UInt8]) {
    guard isMisread(text.utf8) else { return append(text, to: &bytes) }
    bytes.append(contentsOf: "\"=\"\"\(text)\"\"\"".utf8)
  }

  /// Whether Excel makes another number of a text: of digits it drops the first zeroes and keeps 15, and those with an E
  /// among them are a power of ten to it.
  private static func isMisread(_ text: String.UTF8View) -> Bool {
    let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
    let whole = text.prefix(while: isDigit)
    let rest = text.dropFirst(whole.count)
    guard let first = whole.first else { return false }
    if rest.isEmpty { return whole.count > 15 || (first == 0x30 && whole.count > 1) }
    return (rest.first == 0x45 || rest.first == 0x65) && rest.count > 1
      && rest.dropFirst().allSatisfy(isDigit)
  }

  /// Appends text of printable ASCII in which nothing has to be removed, guarded or doubled, in quotation marks
  /// when they hold a comma; for all others does nothing and answers false.
  private static func appendPlain(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) -> Bool {
    guard let first = text.first, let last = text.last, last != 0x20 else { return false }
    switch first {
    case 0x20, 0x2B, 0x2D, 0x3D, 0x40: return false  // a blank and + - = @
    default: break
    }
    // All bytes whatever they are: such a loop runs many bytes at a time.
    var isOdd: UInt8 = 0
    var hasComma: UInt8 = 0
    for byte in text {
      isOdd |= (byte &- 0x20 > 0x5E ? 1 : 0) | (byte == 0x22 ? 1 : 0) | (byte == 0x3B ? 1 : 0)
      hasComma |= byte == 0x2C ? 1 : 0
    }
    guard isOdd == 0 else { return false }
    if hasComma != 0 { bytes.append(0x22) }
    bytes.append(contentsOf: text)
    if hasComma != 0 { bytes.append(0x22) }
    return true
  }

  /// Appends text of any kind, without what is not printable and guarded where a spreadsheet would calculate.
  private static func appendSifted(_ text: String, to bytes: inout [UInt8]) {
    append(sifted: guarded(printable(text, keeping: lines)), to: &bytes)
  }

  /// What a quoted cell can hold and a table cannot.
  private static let lines = "\t\r\n"

  /// The printable text with an apostrophe before each part that a spreadsheet would take for a formula: what starts
  /// with `=`, `+`, `-`, `@` or the wide forms of these, with blanks before it or not. A part begins with the text and
  /// after each semicolon, tab and line end; there a quotation mark may come before the formula.
  private static func guarded(_ text: String) -> String {
    let scalars = text.unicodeScalars
    var guarded = String.UnicodeScalarView()
    var rest = scalars[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(where: isSeparator).map(scalars.index(after:)) ?? scalars.endIndex
      let isFirst = rest.startIndex == scalars.startIndex
      if startsFormula(rest[..<end], isFirst: isFirst) { guarded.append("'") }
      guarded.append(contentsOf: rest[..<end])
      rest = scalars[end...]
    }
    return String(guarded)
  }

  private static func startsFormula(_ part: Substring.UnicodeScalarView, isFirst: Bool) -> Bool {
    switch part.first(where: { $0 != " " && (isFirst || $0 != "\"") }) {
    case "=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}": true
    // A spreadsheet that drops them sees what follows them.
    case "\t", "\r", "\n": isFirst
    default: false
    }
  }

  private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case ";", "\t", "\r", "\n": true
    default: false
    }
  }

  /// Writes text, in quotation marks when they hold anything that ends a cell or that a reader might trim.
  private static func append(sifted text: String, to bytes: inout [UInt8]) {
    let utf8 = text.utf8
    let mustQuote =
      utf8.isEmpty || utf8.first == 0x20 || utf8.last == 0x20
      || utf8.contains { $0 == 0x2C || $0 == 0x3B || $0 == 0x22 || $0 == 0x0D || $0 == 0x0A || $0 == 0x09 }
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

/// Numbers in decimal, written without a text in between.
enum DigitText {
  /// Appends a whole number.
  static func append(_ number: Int64, to bytes: inout [UInt8]) {
    if (0..<10).contains(number) { return bytes.append(digit(number)) }
    // 19 digits and a sign are the most that 64 bits have.
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var first = 20
      var rest = number.magnitude
      repeat {
        first -= 1
        digits[first] = UInt8(truncatingIfNeeded: rest % 10) + 0x30
        rest /= 10
      } while rest > 0
      if number < 0 {
        first -= 1
        digits[first] = 0x2D
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[first...]))
    }
  }

  /// Appends a number as Swift describes it: with the fewest digits that mean this very number.
  ///
  /// What is a whole number of millionths, as confidences mostly are, is written from that whole number. The
  /// division of two exact numbers is rounded as reading the decimal is, so that an equal quotient means that
  /// these digits are read back as the number; and of so few digits no other decimal is.
  static func append(_ number: Double, to bytes: inout [UInt8]) {
    let scaled = number * 1_000_000
    // Below a ten-thousandth Swift writes an exponent.
    guard scaled >= 100, scaled < 1_000_000 else { return described(number, to: &bytes) }
    var millionths = Int64(scaled + 0.5)
    guard Double(millionths) / 1_000_000 == number else {
      return described(number, to: &bytes)
    }
    var decimals = 6
    while millionths % 10 == 0 {
      millionths /= 10
      decimals -= 1
    }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 8) { text in
      text[0] = 0x30
      text[1] = 0x2E
      for index in stride(from: decimals + 1, to: 1, by: -1) {
        text[index] = digit(millionths % 10)
        millionths /= 10
      }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[..<(decimals + 2)]))
    }
  }

  /// The sign of a digit.
  static func digit(_ number: Int64) -> UInt8 { UInt8(truncatingIfNeeded: number) + 0x30 }

  private static func described(_ number: Double, to bytes: inout [UInt8]) {
    bytes.append(contentsOf: String(describing: number).utf8)
  }
}
