/// The columns of an answer with many rows, looked up once and not for each of them.
public struct RowLayout: Sendable {
  let types: [UInt32]

  /// Looks the columns up in one row of the answer.
  ///
  /// - Parameter names: All columns in the order in which the statement answers them.
  /// - Throws: `noSuchColumn` when the answer has others, or has them in another order.
  public init(_ names: [String], of row: Row) throws(PostgreSQLError) {
    let found = (0..<row.columnCount).map(row.result.columnName)
    guard found == names else {
      throw PostgreSQLError(
        .noSuchColumn,
        "The answer has the columns \(found.joined(separator: ", "))"
          + " where \(names.joined(separator: ", ")) were expected.")
    }
    types = (0..<row.columnCount).map(row.result.columnType)
  }
}
