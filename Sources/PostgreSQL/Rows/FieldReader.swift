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

/// Whole rows of a binary COPY, in memory that does not move and is freed with its last user.
final class CopiedRows: Sendable {
  /// Safe to share: written once, in `init`, and freed in `deinit`, when nobody else can hold it.
  private nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer

  init(_ bytes: [UInt8]) {
    memory = .allocate(byteCount: bytes.count, alignment: 1)
    memory.copyBytes(from: bytes)
  }

  deinit {
    memory.deallocate()
  }

  /// The bytes, which live as long as this object.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }
}

/// The rows that a query answered by a binary COPY.
public struct CopiedPage: Sendable {
  private let pieces: [CopiedRows]

  init(_ pieces: [CopiedRows]) {
    self.pieces = pieces
  }

  /// Hands over the rows one after the other, and answers how many there were. In between, what else is to be done on
  /// the same thread gets its turn, such as asking for the next page.
  ///
  /// - Parameter layout: The columns, since a COPY does not tell them.
  /// - Throws: `unexpectedResult` when what came has another shape, and what `body` throws.
  @discardableResult
  public consuming func forEachRow(
    _ layout: RowLayout, _ body: (inout FieldReader) throws -> Void
  ) async throws -> Int {
    var format = CopyFormat()
    var count = 0
    var left = Array(pieces.reversed())
    while let piece = left.popLast() {
      count += try format.rows(in: piece, layout, body)
      await Task.yield()
    }
    return count
  }
}

/// Where the rows lie in what a binary COPY sends.
///
/// The format is in PostgreSQL's manual, under COPY: a header of 19 bytes and more, then for each row the number of
/// its fields and the fields, each with its length before it, and -1 for a number at the end.
struct CopyFormat {
  private static let signature = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00]
  private var isBegun = false

  /// Hands over the rows of one piece. Answers how many there were.
  ///
  /// - Throws: `unexpectedResult` for bytes that are not of the format, and what `body` throws.
  mutating func rows(
    in piece: CopiedRows, _ layout: RowLayout, _ body: (inout FieldReader) throws -> Void
  ) throws -> Int {
    var position = isBegun ? 0 : try Self.headerLength(piece.bytes)
    isBegun = true
    var count = 0
    while position < piece.bytes.count {
      guard let fieldCount = piece.bytes.bigEndian(Int16.self, at: position) else { throw Self.malformed }
      position += 2
      if fieldCount == -1 { break }
      guard fieldCount == layout.types.count else { throw Self.malformed }
      var fields = FieldReader(piece, layout, at: position)
      try body(&fields)
      position = try fields.end()
      count += 1
    }
    return count
  }

  private static func headerLength(_ bytes: UnsafeRawBufferPointer) throws -> Int {
    guard bytes.starts(with: signature), let flags = bytes.bigEndian(UInt32.self, at: signature.count),
      flags >> 16 == 0, let extensions = bytes.bigEndian(UInt32.self, at: signature.count + 4)
    else { throw malformed }
    return signature.count + 8 + Int(extensions)
  }

  static var malformed: PostgreSQLError {
    PostgreSQLError(.unexpectedResult, "The server's COPY is not of the binary format that was asked for.")
  }
}
