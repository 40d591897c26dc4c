import CommandLineTool
import Support

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
