/// The rows that answer a statement, and what the server says of the command.
public struct Rows: RandomAccessCollection, Sendable {
  private let result: ServerResult

  /// How many rows there are.
  public let count: Int

  init(_ result: ServerResult) {
    self.result = result
    count = result.rowCount
  }

  /// The position of the first row.
  public var startIndex: Int { 0 }
  /// The position past the last row.
  public var endIndex: Int { count }

  /// A row by its position, from 0.
  public subscript(position: Int) -> Row {
    precondition(indices.contains(position), "There is no row \(position) among \(count).")
    return Row(result: result, index: position)
  }

  /// How many rows the command inserted, updated, deleted, copied or answered.
  public var affectedRows: Int { result.affectedRows }

  /// The server's name for what it did, for instance `INSERT 0 1`.
  public var command: String { result.command }

  /// The columns' names, in order.
  public var columnNames: [String] { (0..<result.columnCount).map(result.columnName) }

  var columnTypes: [UInt32] { (0..<result.columnCount).map(result.columnType) }

  /// The position of a column, for answers with many rows: it is looked up once and not for each of them.
  ///
  /// - Throws: `noSuchColumn`.
  public func position(of column: String) throws(PostgreSQLError) -> Int {
    guard let position = result.column(named: column) else {
      throw PostgreSQLError(
        .noSuchColumn, "The answer has no column \(column); it has: \(columnNames.joined(separator: ", ")).")
    }
    return position
  }

  /// The only row.
  ///
  /// - Throws: `unexpectedResult` when there is none, or more than one.
  public func single() throws(PostgreSQLError) -> Row {
    guard count == 1 else {
      throw PostgreSQLError(.unexpectedResult, "One row was expected and \(count) came.")
    }
    return self[0]
  }
}
