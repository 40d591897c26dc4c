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

/// What names a column: its position, from 0, or its name as the server spells it.
public protocol ColumnKey: Sendable {
  /// The column's position among the names given; nil when there is none such.
  func position(among count: Int, named: (String) -> Int?) -> Int?
  /// How it is written in an error.
  var columnDescription: String { get }
}

extension Int: ColumnKey {
  /// The number itself, if there are so many columns.
  public func position(among count: Int, named: (String) -> Int?) -> Int? {
    (0..<count).contains(self) ? self : nil
  }

  /// The number, for instance "column 0".
  public var columnDescription: String { "column \(self)" }
}

extension String: ColumnKey {
  /// The first column of that name.
  public func position(among count: Int, named: (String) -> Int?) -> Int? {
    named(self)
  }

  /// The name, for instance "column id".
  public var columnDescription: String { "column \(self)" }
}
