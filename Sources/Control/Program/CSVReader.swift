import CommandLineTool
import Support

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

/// Comma-separated values whose first line names the columns, each once and in any order.
struct CSVTable<Column: RawRepresentable<String> & CaseIterable & Hashable & Sendable>: Sendable {
  /// A row, with the line, from 1, on which it begins; or why it cannot be read.
  struct Row: Sendable {
    let line: Int
    let cells: Result<[Column: String], CSVReader.Fault>
  }

  let columns: [Column]
  let rows: [Row]
  /// Where the header stands, for messages: `users.csv:1`.
  let position: String

  /// Reads a table; `name` is the file's.
  init(_ bytes: [UInt8], name: String) throws(CommandFailure) {
    var reader = CSVReader(bytes, separator: Self.separator(bytes))
    guard let header = reader.next() else {
      throw CommandFailure(
        .unreadableInput, "\(name) is empty", advice: "Its first line names the columns: \(Column.list).")
    }
    position = "\(name):\(header.line)"
    columns = try Self.columns(of: header, position)
    var rows: [Row] = []
    while let row = reader.next() {
      rows.append(Row(line: row.line, cells: Self.cells(of: row, columns)))
    }
    self.rows = rows
  }

  /// What stands between the cells, by the header: no column has a comma or a semicolon in its name.
  private static func separator(_ bytes: [UInt8]) -> Unicode.Scalar {
    let header = bytes.drop { "\r\n".utf8.contains($0) }.prefix { $0 != UInt8(ascii: "\n") }
    return header.contains(UInt8(ascii: ";")) && !header.contains(UInt8(ascii: ",")) ? ";" : ","
  }

  private static func columns(
    of header: CSVReader.Row, _ position: String
  ) throws(CommandFailure) -> [Column] {
    let names: [String]
    switch header.cells {
    case .success(let cells): names = cells
    case .failure(let fault): throw CommandFailure(.unreadableInput, "\(position): \(fault.sentence)")
    }
    var columns: [Column] = []
    for name in names {
      guard let column = Column(rawValue: name) else {
        let nearest = nearest(to: name, among: Column.allCases.map(\.rawValue))
        let suggestion = nearest.map { ": did you mean '\($0)'?" } ?? ""
        throw CommandFailure(
          .unreadableInput, "\(position): there is no column '\(printable(name, limit: 60))'\(suggestion)",
          advice: "The columns are: \(Column.list).")
      }
      guard !columns.contains(column) else {
        throw CommandFailure(.unreadableInput, "\(position): the column '\(name)' is there twice")
      }
      columns.append(column)
    }
    return columns
  }

  private static func cells(
    of row: CSVReader.Row, _ columns: [Column]
  ) -> Result<[Column: String], CSVReader.Fault> {
    row.cells.flatMap { cells in
      guard cells.count == columns.count else {
        return .failure(
          CSVReader.Fault(sentence: "it has \(cells.count) cells, and the header \(columns.count)"))
      }
      return .success(Dictionary(uniqueKeysWithValues: zip(columns, cells)))
    }
  }
}

extension CaseIterable where Self: RawRepresentable<String> {
  /// The names of columns as a sentence lists them.
  static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
