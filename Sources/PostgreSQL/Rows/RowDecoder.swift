/// A type of which some properties are not called as the columns are that they are read from.
public protocol RenamedColumns: Decodable {
  /// The column of such a property, without the prefix: `["id": "job"]`.
  static var columns: [String: String] { get }
}

extension Row {
  /// The row as a type of the caller's choice: each property is read from the column of its name.
  ///
  /// The property `createdAt` is the column `created_at`, or with the prefix `o_` the column `o_created_at` if there is
  /// one. A `Double` of a `timestamptz` is in seconds since 1970, a `String` of a `jsonb` is its text, and a property that
  /// is no ``ColumnValue`` is read from the columns of its own properties. A ``ColumnValue`` itself is read from a row's
  /// only column.
  ///
  /// - Parameter beside: properties that the row has no column for.
  /// - Throws: `noSuchColumn`, `typeMismatch` or `unexpectedNull` as ``value(_:as:)`` does, and ``UnknownValue``.
  public func decode<T: Decodable>(
    _ type: T.Type, prefix: String, beside: [String: (any Sendable)?] = [:]
  ) throws -> T {
    try RowDecoder(self, ColumnNames(prefix), beside).value(T.self)
  }
}

extension Rows {
  /// An answer as a type of the caller's choice: an array has every row, an optional type the first one if there is any, and
  /// every other type the only one.
  ///
  /// - Parameter beside: properties that the rows have no column for.
  /// - Throws: as ``Row/decode(_:prefix:beside:)``, and `unexpectedResult` when there is not one row where one is needed.
  public func decode<T: Decodable>(
    _ type: T.Type, prefix: String, beside: [String: (any Sendable)?] = [:]
  ) throws -> T {
    let names = ColumnNames(prefix)
    guard !(T.self is any ColumnValue.Type), let several = T.self as? any SeveralRows.Type,
      let value = try several.read(self, { RowDecoder($0, names, beside) }) as? T
    else { return try RowDecoder(single(), names, beside).value(T.self) }
    return value
  }
}

/// What does not need one row.
private protocol SeveralRows {
  static func read(_ rows: Rows, _ decoder: (Row) -> RowDecoder) throws -> Self
}

extension Array: SeveralRows where Element: Decodable {
  fileprivate static func read(_ rows: Rows, _ decoder: (Row) -> RowDecoder) throws -> Self {
    try rows.map { try decoder($0).value(Element.self) }
  }
}

extension Optional: SeveralRows where Wrapped: Decodable {
  fileprivate static func read(_ rows: Rows, _ decoder: (Row) -> RowDecoder) throws -> Self {
    try rows.first.flatMap { try decoder($0).valueIfPresent(Wrapped.self) }
  }
}

/// Several values in one column.
private protocol ColumnArray {
  static func read(_ row: Row, _ column: ColumnPlace) throws -> Self?
}

extension Array: ColumnArray where Element: ColumnValue {
  fileprivate static func read(_ row: Row, _ column: ColumnPlace) throws -> Self? {
    try row.arrayIfPresent(column, of: Element.Stored.self)?.map { try Element(stored: $0) }
  }
}

/// The columns of an answer by the names of properties; each is looked up once and not for each row.
private final class ColumnNames {
  private let prefix: String
  private var found: [String: ColumnPlace] = [:]

  init(_ prefix: String) {
    self.prefix = prefix
  }

  func place(_ name: String, in row: Row) throws(PostgreSQLError) -> ColumnPlace {
    if let place = found[name] { return place }
    let column = Self.column(name)
    let shown = row.result.column(named: prefix + column) == nil ? column : prefix + column
    let place = ColumnPlace(position: try row.position(shown), name: shown)
    found[name] = place
    return place
  }

  /// `photo_url` for `photoURL`.
  static func column(_ property: String) -> String {
    let letters = Array(property)
    return letters.indices.reduce(into: "") { name, index in
      let (letter, before) = (letters[index], index > 0 ? letters[index - 1] : "_")
      let endsWord = index + 1 < letters.count && letters[index + 1].isLowercase
      if letter.isUppercase, before != "_", !before.isUppercase || endsWord { name += "_" }
      name += letter.lowercased()
    }
  }
}

/// A column that was found, with the name that errors are to say.
private struct ColumnPlace: ColumnKey {
  let position: Int
  let name: String

  func position(among count: Int, named: (String) -> Int?) -> Int? { position }
  var columnDescription: String { name.columnDescription }
}

/// Reads a row by the names of its columns.
private struct RowDecoder: Decoder {
  private let row: Row
  private let names: ColumnNames
  private let beside: [String: (any Sendable)?]
  /// Of the type that is decoded.
  private var renamed: [String: String] = [:]

  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  init(_ row: Row, _ names: ColumnNames, _ beside: [String: (any Sendable)?]) {
    (self.row, self.names, self.beside) = (row, names, beside)
  }

  func container<Key>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw Self.byName }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw Self.byName }

  static var byName: PostgreSQLError {
    PostgreSQLError(.misuse, "A row is decoded by the names of its columns.")
  }

  /// A type that is read from several columns.
  private func several<T: Decodable>(_ type: T.Type) throws -> T {
    var decoder = self
    decoder.renamed = (T.self as? any RenamedColumns.Type)?.columns ?? [:]
    return try T(from: decoder)
  }

  private func place(of property: String) throws(PostgreSQLError) -> ColumnPlace {
    try names.place(renamed[property] ?? property, in: row)
  }

  func value<T: Decodable>(_ type: T.Type) throws -> T {
    guard Self.isColumn(T.self) else { return try several(T.self) }
    let place = try onlyColumn()
    guard let value = try read(T.self, place) else { throw PostgreSQLError.unexpectedNull(place) }
    return value
  }

  func valueIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
    Self.isColumn(T.self) ? try read(T.self, onlyColumn()) : try several(T.self)
  }

  func value<T: Decodable>(_ type: T.Type, of property: String) throws -> T {
    if let known = beside[property] as? T { return known }
    guard Self.isColumn(T.self) else { return try several(T.self) }
    let place = try place(of: property)
    guard let value = try read(T.self, place) else { throw PostgreSQLError.unexpectedNull(place) }
    return value
  }

  func isNull(_ property: String) throws -> Bool {
    if let known = beside[property] { return known == nil }
    return try row.isNull(place(of: property))
  }

  private static func isColumn(_ type: Any.Type) -> Bool {
    type is any ColumnValue.Type || type is any ColumnArray.Type
  }

  private func onlyColumn() throws(PostgreSQLError) -> ColumnPlace {
    guard row.columnCount == 1 else {
      throw PostgreSQLError(.unexpectedResult, "One column was expected and \(row.columnCount) came.")
    }
    return ColumnPlace(position: 0, name: row.result.columnName(0))
  }

  private func read<T>(_ type: T.Type, _ column: ColumnPlace) throws -> T? {
    let oid = row.result.columnType(column.position)
    switch type {
    case is Double.Type where Timestamp.accepts(oid):
      return try row.timestampIfPresent(column)?.secondsSince1970 as? T
    case is String.Type where oid == OID.jsonb: return try row.jsonTextIfPresent(column) as? T
    case let type as any ColumnValue.Type: return try scalar(type, column, oid) as? T
    case let type as any ColumnArray.Type: return try type.read(row, column) as? T
    default: throw Self.byName
    }
  }

  private func scalar<V: ColumnValue>(_ type: V.Type, _ column: ColumnPlace, _ oid: UInt32) throws -> V? {
    guard V.Stored.accepts(oid) else { throw PostgreSQLError.mismatch(column, oid, V.self) }
    return try row.valueIfPresent(column, as: V.Stored.self).map { try V(stored: $0) }
  }
}

/// The columns of a row.
private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: RowDecoder

  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }
  /// Whether there is none shows when it is read, as an error.
  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) throws -> Bool { try decoder.isNull(key.stringValue) }
  func superDecoder() -> any Decoder { decoder }
  func superDecoder(forKey key: Key) -> any Decoder { decoder }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try decoder.value(T.self, of: key.stringValue)
  }

  func nestedContainer<Inner>(
    keyedBy type: Inner.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Inner> {
    throw RowDecoder.byName
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw RowDecoder.byName
  }
}
