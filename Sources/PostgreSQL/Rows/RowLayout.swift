/// The columns of an answer with many rows, looked up once and not for each of them.
public struct RowLayout: Sendable {
  let names: [String]
  let types: [UInt32]

  /// Takes the columns from an answer to the same query, which may be without a row.
  ///
  /// - Parameter names: All columns in the order in which the query answers them.
  /// - Throws: `noSuchColumn` when the answer has others, or has them in another order.
  public init(_ names: [String], of rows: Rows) throws(PostgreSQLError) {
    guard rows.columnNames == names else {
      throw PostgreSQLError(
        .noSuchColumn,
        "The answer has the columns \(rows.columnNames.joined(separator: ", "))"
          + " where \(names.joined(separator: ", ")) were expected.")
    }
    self.names = names
    types = rows.columnTypes
  }
}
