/// Reads a row from its first column to its last.
///
/// For answers with very many rows: nothing is looked up by name, and a text is not copied. Every call reads
/// the next column, also when it throws.
public struct FieldReader {
  private let row: Row
  private let types: [UInt32]
  private var next = 0

  /// Begins with a row's first column.
  ///
  /// - Parameter layout: That of a row of the same answer.
  public init(_ row: Row, _ layout: RowLayout) {
    self.row = row
    types = layout.types
  }

  /// Leaves out so many columns.
  public mutating func skip(_ count: Int) {
    next += count
  }

  /// A `boolean`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public mutating func boolIfPresent() throws(PostgreSQLError) -> Bool? {
    try valueIfPresent()
  }

  /// A `smallint`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch` or `unexpectedNull`.
  public mutating func int16() throws(PostgreSQLError) -> Int16 {
    try value()
  }

  /// A `bigint` or narrower.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch` or `unexpectedNull`.
  public mutating func int64() throws(PostgreSQLError) -> Int64 {
    try value()
  }

  /// A `double precision` or `real`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch` or `unexpectedNull`.
  public mutating func double() throws(PostgreSQLError) -> Double {
    try value()
  }

  /// A `timestamptz`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch` or `unexpectedNull`.
  public mutating func timestamp() throws(PostgreSQLError) -> Timestamp {
    try value()
  }

  /// A `timestamptz`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public mutating func timestampIfPresent() throws(PostgreSQLError) -> Timestamp? {
    try valueIfPresent()
  }

  /// A `text`, `varchar`, `char`, `name` or `json`, not copied.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch` or `unexpectedNull`.
  public mutating func text() throws(PostgreSQLError) -> LentText {
    guard let text = try textIfPresent() else { throw row.unexpectedNull(lastName) }
    return text
  }

  /// A `text`, `varchar`, `char`, `name` or `json`, not copied; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public mutating func textIfPresent() throws(PostgreSQLError) -> LentText? {
    let (position, oid) = try advance()
    guard String.accepts(oid) else { throw row.mismatch(lastName, oid, String.self) }
    guard let bytes = row.result.bytes(row: row.index, column: position) else { return nil }
    guard let text = LentText(bytes, of: row.result) else { throw row.mismatch(lastName, oid, String.self) }
    return text
  }

  private var lastName: String { row.result.columnName(next - 1) }

  private mutating func advance() throws(PostgreSQLError) -> (position: Int, oid: UInt32) {
    let position = next
    next += 1
    // Says what columns there are.
    guard position < types.count else { return (try row.position(position), 0) }
    return (position, types[position])
  }

  private mutating func valueIfPresent<T: SQLScalar>() throws(PostgreSQLError) -> T? {
    let (position, oid) = try advance()
    guard T.accepts(oid) else { throw row.mismatch(lastName, oid, T.self) }
    guard let bytes = row.result.bytes(row: row.index, column: position) else { return nil }
    guard let value = T(binary: bytes, oid: oid) else { throw row.mismatch(lastName, oid, T.self) }
    return value
  }

  private mutating func value<T: SQLScalar>() throws(PostgreSQLError) -> T {
    guard let value: T = try valueIfPresent() else { throw row.unexpectedNull(lastName) }
    return value
  }
}
