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
