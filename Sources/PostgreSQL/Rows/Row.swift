/// One row of an answer; it keeps the answer alive.
public struct Row: Sendable {
  let result: ServerResult
  let index: Int

  /// How many columns there are.
  public var columnCount: Int { result.columnCount }

  /// Whether a column is NULL.
  ///
  /// - Throws: `noSuchColumn`.
  public func isNull(_ column: some ColumnKey) throws(PostgreSQLError) -> Bool {
    result.bytes(row: index, column: try position(column)) == nil
  }

  /// A column as a type of the caller's choice; nil for NULL.
  ///
  /// - Throws: `noSuchColumn`, or `typeMismatch` when the column's type cannot be read so without loss.
  public func valueIfPresent<T: SQLScalar>(
    _ column: some ColumnKey, as type: T.Type = T.self
  ) throws(PostgreSQLError) -> T? {
    let position = try position(column)
    let oid = result.columnType(position)
    guard T.accepts(oid) else { throw .mismatch(column, oid, T.self) }
    guard let bytes = result.bytes(row: index, column: position) else { return nil }
    guard let value = T(binary: bytes, oid: oid) else { throw .mismatch(column, oid, T.self) }
    return value
  }

  /// A column as a type of the caller's choice.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func value<T: SQLScalar>(
    _ column: some ColumnKey, as type: T.Type = T.self
  ) throws(PostgreSQLError) -> T {
    guard let value = try valueIfPresent(column, as: T.self) else { throw .unexpectedNull(column) }
    return value
  }

  func position(_ column: some ColumnKey) throws(PostgreSQLError) -> Int {
    guard let position = column.position(among: columnCount, named: result.column(named:)) else {
      let names = (0..<columnCount).map(result.columnName).joined(separator: ", ")
      throw PostgreSQLError(
        .noSuchColumn, "The answer has no \(column.columnDescription); it has: \(names).")
    }
    return position
  }
}

extension PostgreSQLError {
  static func mismatch(_ column: some ColumnKey, _ oid: UInt32, _ type: Any.Type) -> PostgreSQLError {
    PostgreSQLError(
      .typeMismatch,
      "The answer's \(column.columnDescription) is of the type with OID \(oid) and cannot be read as \(type);"
        + " cast it in the statement.")
  }

  static func unexpectedNull(_ column: some ColumnKey) -> PostgreSQLError {
    PostgreSQLError(.unexpectedNull, "The answer's \(column.columnDescription) is NULL.")
  }
}
