/// Reads comma-separated values as RFC 4180 has them, strictly: a line that is not so is a fault with its
/// number, and reading goes on with the next. Cells may be separated by semicolons instead, as spreadsheets write them
/// in many countries.
///
/// Lines end in CRLF or LF; a byte order mark at the beginning is passed over; an empty line is no row, nor is one of
/// separators alone, as spreadsheets write what was cleared.
struct CSVReader {
  /// A row and the line, from 1, on which it begins.
  struct Row: Equatable {
    let line: Int
    let cells: Result<[String], Fault>
  }

  struct Fault: Error, Equatable {
    let sentence: String
  }

  private let bytes: [UInt8]
  private let separator: UInt8
  private var position = 0
  private var line = 1

  private static let quote = UInt8(ascii: "\"")
  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  init(_ bytes: [UInt8], separator: Unicode.Scalar = ",") {
    self.bytes = bytes
    self.separator = UInt8(ascii: separator)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
  }

  /// The next row; nil at the end.
  mutating func next() -> Row? {
    while skipLineEnd() || skipEmptyCells() {}
    guard position < bytes.count else { return nil }
    let first = line
    do throws(Fault) {
      var cells: [String] = []
      repeat { cells.append(try cell()) } while skip(separator)
      guard position == bytes.count || skipLineEnd() else {
        throw Fault(sentence: "something stands after a closing quote")
      }
      return Row(line: first, cells: .success(cells))
    } catch {
      passLine()
      return Row(line: first, cells: .failure(error))
    }
  }

  private mutating func cell() throws(Fault) -> String {
    skip(Self.quote) ? try quotedCell() : try plainCell()
  }

  private mutating func plainCell() throws(Fault) -> String {
    let start = position
    while position < bytes.count, bytes[position] != separator, !isAtLineEnd {
      guard bytes[position] != Self.quote else {
        throw Fault(sentence: "a quote stands in a cell that does not begin with one")
      }
      position += 1
    }
    return try text(Array(bytes[start..<position]))
  }

  private mutating func quotedCell() throws(Fault) -> String {
    var content: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      if byte == Self.quote, !skip(Self.quote) { return try text(content) }
      if byte == Self.lineFeed { line += 1 }
      content.append(byte)
    }
    throw Fault(sentence: "the closing quote is missing")
  }

  private func text(_ bytes: [UInt8]) throws(Fault) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Fault(sentence: "it is not UTF-8 text")
    }
    guard !bytes.contains(0) else { throw Fault(sentence: "it holds a NUL character") }
    return text
  }

  private var isAtLineEnd: Bool {
    bytes[position] == Self.lineFeed
      || (bytes[position] == Self.carriageReturn && position + 1 < bytes.count
        && bytes[position + 1] == Self.lineFeed)
  }

  private mutating func skip(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipLineEnd() -> Bool {
    guard position < bytes.count, isAtLineEnd else { return false }
    position += bytes[position] == Self.lineFeed ? 1 : 2
    line += 1
    return true
  }

  /// Passes over separators up to the line's end, if there is nothing else.
  private mutating func skipEmptyCells() -> Bool {
    let start = position
    while skip(separator) {}
    if position > start, position == bytes.count || skipLineEnd() { return true }
    position = start
    return false
  }

  /// Goes to the beginning of the next line.
  private mutating func passLine() {
    while position < bytes.count, !isAtLineEnd { position += 1 }
    _ = skipLineEnd()
  }
}
