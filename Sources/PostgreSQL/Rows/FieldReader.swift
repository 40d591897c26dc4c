/// Reads a row of a binary COPY from its first column to its last.
///
/// For answers with very many rows: nothing is looked up by name, and a text is not copied. Every call reads
/// the next column, also when it throws.
public struct FieldReader {
  private let rows: CopiedRows
  private let layout: RowLayout
  private var position: Int
  private var next = 0

  /// Begins with the first column of the row whose fields begin there.
  init(_ rows: CopiedRows, _ layout: RowLayout, at position: Int) {
    self.rows = rows
    self.layout = layout
    self.position = position
  }

  /// Leaves out what was not read, and answers where the next row begins.
  mutating func end() throws(PostgreSQLError) -> Int {
    while next < layout.types.count { _ = try advance() }
    return position
  }

  /// Leaves out so many columns.
  ///
  /// - Throws: `noSuchColumn`.
  public mutating func skip(_ count: Int) throws(PostgreSQLError) {
    for _ in 0..<count { _ = try advance() }
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
  public mutating func text() throws(PostgreSQLError) -> BorrowedText {
    guard let text = try textIfPresent() else { throw .unexpectedNull(lastName) }
    return text
  }

  /// A `text`, `varchar`, `char`, `name` or `json`, not copied; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public mutating func textIfPresent() throws(PostgreSQLError) -> BorrowedText? {
    let (bytes, oid) = try advance()
    guard String.accepts(oid) else { throw .mismatch(lastName, oid, String.self) }
    guard let bytes else { return nil }
    guard let text = BorrowedText(bytes, of: rows) else { throw .mismatch(lastName, oid, String.self) }
    return text
  }

  private var lastName: String { layout.names[next - 1] }

  /// The next field's bytes, nil for NULL, and its type.
  private mutating func advance() throws(PostgreSQLError) -> (bytes: UnsafeRawBufferPointer?, oid: UInt32) {
    guard next < layout.types.count else {
      throw PostgreSQLError(
        .noSuchColumn,
        "The answer has no column \(next); it has: \(layout.names.joined(separator: ", ")).")
    }
    let all = rows.bytes
    guard let length = all.bigEndian(Int32.self, at: position) else { throw CopyFormat.malformed }
    let oid = layout.types[next]
    next += 1
    position += 4
    guard length >= 0 else { return (nil, oid) }
    let start = position
    position += Int(length)
    guard position <= all.count else { throw CopyFormat.malformed }
    return (UnsafeRawBufferPointer(rebasing: all[start..<position]), oid)
  }

  private mutating func valueIfPresent<T: SQLScalar>() throws(PostgreSQLError) -> T? {
    let (bytes, oid) = try advance()
    guard T.accepts(oid) else { throw .mismatch(lastName, oid, T.self) }
    guard let bytes else { return nil }
    guard let value = T(binary: bytes, oid: oid) else { throw .mismatch(lastName, oid, T.self) }
    return value
  }

  private mutating func value<T: SQLScalar>() throws(PostgreSQLError) -> T {
    guard let value: T = try valueIfPresent() else { throw .unexpectedNull(lastName) }
    return value
  }
}

/// A text in UTF-8 where the server's answer has it, without a copy; it keeps the answer's piece alive.
public struct BorrowedText: Sendable {
  private let owner: CopiedRows
  // Safe to share: the bytes are `owner`'s, which never moves nor changes them and lives as long as this.
  private nonisolated(unsafe) let start: UnsafeRawPointer

  /// How many bytes there are.
  public let count: Int
  /// Whether it has no character but ASCII's.
  public let isASCII: Bool

  /// Bytes of an answer; nil when they are not UTF-8.
  init?(_ bytes: UnsafeRawBufferPointer, of owner: CopiedRows) {
    guard let start = bytes.baseAddress else { return nil }
    // All bytes whatever they are: such a loop runs many bytes at a time.
    isASCII = bytes.reduce(0 as UInt8, |) < 0x80
    guard isASCII || String(validating: bytes, as: UTF8.self) != nil else { return nil }
    self.owner = owner
    self.start = start
    count = bytes.count
  }

  /// Lends the bytes.
  public func withUTF8<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    // What the pointer points into must outlive the closure, of which the optimiser knows nothing.
    defer { withExtendedLifetime(owner) {} }
    return body(UnsafeBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: count))
  }

  /// A copy.
  public var string: String { withUTF8 { String(decoding: $0, as: UTF8.self) } }
}

extension BorrowedText: Equatable {
  /// Whether both have the same bytes.
  public static func == (one: BorrowedText, other: BorrowedText) -> Bool {
    one.withUTF8 { mine in other.withUTF8 { mine.elementsEqual($0) } }
  }
}
