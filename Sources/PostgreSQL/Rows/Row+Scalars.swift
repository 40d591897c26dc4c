extension Row {
  /// A column of type `boolean`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func bool(_ column: some ColumnKey) throws(PostgreSQLError) -> Bool {
    try value(column, as: Bool.self)
  }

  /// A column of type `boolean`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func boolIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Bool? {
    try valueIfPresent(column, as: Bool.self)
  }

  /// A column of type `smallint`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func int16(_ column: some ColumnKey) throws(PostgreSQLError) -> Int16 {
    try value(column, as: Int16.self)
  }

  /// A column of type `smallint`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func int16IfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Int16? {
    try valueIfPresent(column, as: Int16.self)
  }

  /// A column of type `integer` or narrower.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func int32(_ column: some ColumnKey) throws(PostgreSQLError) -> Int32 {
    try value(column, as: Int32.self)
  }

  /// A column of type `integer` or narrower; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func int32IfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Int32? {
    try valueIfPresent(column, as: Int32.self)
  }

  /// A column of type `bigint` or narrower.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func int64(_ column: some ColumnKey) throws(PostgreSQLError) -> Int64 {
    try value(column, as: Int64.self)
  }

  /// A column of type `bigint` or narrower; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func int64IfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Int64? {
    try valueIfPresent(column, as: Int64.self)
  }

  /// A column of type `double precision` or `real`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func double(_ column: some ColumnKey) throws(PostgreSQLError) -> Double {
    try value(column, as: Double.self)
  }

  /// A column of type `double precision` or `real`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func doubleIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Double? {
    try valueIfPresent(column, as: Double.self)
  }

  /// A column of type `text`, `varchar`, `char`, `name` or `json`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func string(_ column: some ColumnKey) throws(PostgreSQLError) -> String {
    try value(column, as: String.self)
  }

  /// A column of type `text`, `varchar`, `char`, `name` or `json`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func stringIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> String? {
    try valueIfPresent(column, as: String.self)
  }

  /// A column of type `bytea`, copied.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func bytes(_ column: some ColumnKey) throws(PostgreSQLError) -> [UInt8] {
    try value(column, as: [UInt8].self)
  }

  /// A column of type `bytea`, copied; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func bytesIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> [UInt8]? {
    try valueIfPresent(column, as: [UInt8].self)
  }

  /// A column of type `timestamptz`.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func timestamp(_ column: some ColumnKey) throws(PostgreSQLError) -> Timestamp {
    try value(column, as: Timestamp.self)
  }

  /// A column of type `timestamptz`; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func timestampIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Timestamp? {
    try valueIfPresent(column, as: Timestamp.self)
  }

  /// A column of an integer type.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func int(_ column: some ColumnKey) throws(PostgreSQLError) -> Int {
    Int(try value(column, as: Int64.self))
  }

  /// A column of an integer type; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func intIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Int? {
    try valueIfPresent(column, as: Int64.self).map { Int($0) }
  }

  /// The text of a `jsonb` or `json` column.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func jsonText(_ column: some ColumnKey) throws(PostgreSQLError) -> String {
    try value(column, as: JSONText.self).text
  }

  /// The text of a `jsonb` or `json` column; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func jsonTextIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> String? {
    try valueIfPresent(column, as: JSONText.self)?.text
  }
}
