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

extension Row {
  /// A column of type `boolean`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func bool<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Bool {
    try value(column, as: Bool.self)
  }

  /// A column of type `boolean`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func boolIfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Bool? {
    try valueIfPresent(column, as: Bool.self)
  }

  /// A column of type `smallint`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func int16<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Int16 {
    try value(column, as: Int16.self)
  }

  /// A column of type `smallint`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func int16IfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Int16? {
    try valueIfPresent(column, as: Int16.self)
  }

  /// A column of type `integer` or narrower.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func int32<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Int32 {
    try value(column, as: Int32.self)
  }

  /// A column of type `integer` or narrower; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func int32IfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Int32? {
    try valueIfPresent(column, as: Int32.self)
  }

  /// A column of type `bigint` or narrower.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func int64<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Int64 {
    try value(column, as: Int64.self)
  }

  /// A column of type `bigint` or narrower; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func int64IfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Int64? {
    try valueIfPresent(column, as: Int64.self)
  }

  /// A column of type `double precision` or `real`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func double<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Double {
    try value(column, as: Double.self)
  }

  /// A column of type `double precision` or `real`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func doubleIfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Double? {
    try valueIfPresent(column, as: Double.self)
  }

  /// A column of type `text`, `varchar`, `char`, `name` or `json`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func string<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> String {
    try value(column, as: String.self)
  }

  /// A column of type `text`, `varchar`, `char`, `name` or `json`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func stringIfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> String? {
    try valueIfPresent(column, as: String.self)
  }

  /// A column of type `bytea`, copied.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func bytes<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> [UInt8] {
    try value(column, as: [UInt8].self)
  }

  /// A column of type `bytea`, copied; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func bytesIfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> [UInt8]? {
    try valueIfPresent(column, as: [UInt8].self)
  }

  /// A column of type `timestamptz`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func timestamp<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Timestamp {
    try value(column, as: Timestamp.self)
  }

  /// A column of type `timestamptz`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func timestampIfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Timestamp? {
    try valueIfPresent(column, as: Timestamp.self)
  }

  /// A column of an integer type.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func int<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Int {
    Int(try value(column, as: Int64.self))
  }

  /// A column of an integer type; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func intIfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> Int? {
    try valueIfPresent(column, as: Int64.self).map { Int($0) }
  }

  /// The text of a `jsonb` or `json` column.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func jsonText<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> String {
    try value(column, as: JSONText.self).text
  }

  /// The text of a `jsonb` or `json` column; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  @specialized(where Column == Int)
  @specialized(where Column == String)
  public func jsonTextIfPresent<Column: ColumnKey>(_ column: Column) throws(PostgreSQLError) -> String? {
    try valueIfPresent(column, as: JSONText.self)?.text
  }
}

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
