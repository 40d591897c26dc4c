extension Row {
  /// A one-dimensional array without NULLs.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull` when it or an element is NULL.
  public func array<T: SQLScalar>(
    _ column: some ColumnKey, of type: T.Type = T.self
  ) throws(PostgreSQLError) -> [T] {
    guard let values = try arrayIfPresent(column, of: T.self) else { throw .unexpectedNull(column) }
    return values
  }

  /// A one-dimensional array without NULLs; nil when the array itself is NULL.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull` when an element is NULL.
  public func arrayIfPresent<T: SQLScalar>(
    _ column: some ColumnKey, of type: T.Type = T.self
  ) throws(PostgreSQLError) -> [T]? {
    guard let elements = try elements(column, of: T.self) else { return nil }
    let values = elements.compactMap(\.self)
    guard values.count == elements.count else { throw .unexpectedNull(column) }
    return values
  }

  /// A one-dimensional array, with nil for each NULL.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull` when the array itself is NULL.
  public func nullableArray<T: SQLScalar>(
    _ column: some ColumnKey, of type: T.Type = T.self
  ) throws(PostgreSQLError) -> [T?] {
    guard let elements = try elements(column, of: T.self) else { throw .unexpectedNull(column) }
    return elements
  }

  private func elements<T: SQLScalar>(
    _ column: some ColumnKey, of type: T.Type
  ) throws(PostgreSQLError) -> [T?]? {
    let position = try position(column)
    let oid = result.columnType(position)
    guard OID.arrays.contains(oid) else { throw .mismatch(column, oid, [T].self) }
    guard let bytes = result.bytes(row: index, column: position) else { return nil }
    guard let elements = ArrayFormat.decode(bytes, of: T.self) else {
      throw .mismatch(column, oid, [T].self)
    }
    return elements
  }
}
