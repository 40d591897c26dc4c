/// Bytes of a `bytea` where the server's answer has them, without a copy.
///
/// A `Blob` keeps the answer alive; the address its closure is given stays valid and its bytes the same
/// as long as any copy of the `Blob` lives.
public struct Blob: Sendable {
  private enum Owner: Sendable {
    case result(ServerResult)
    case array(Storage)
  }

  /// Bytes of the program's own; they never move, and are not changed after `init`.
  private final class Storage: @unchecked Sendable {
    let buffer: UnsafeMutableRawBufferPointer

    init(_ bytes: [UInt8]) {
      buffer = .allocate(byteCount: bytes.count, alignment: 1)
      buffer.copyBytes(from: bytes)
    }

    deinit {
      buffer.deallocate()
    }
  }

  private let owner: Owner
  private let row: Int
  private let column: Int

  /// How many bytes there are.
  public let count: Int

  init(result: ServerResult, row: Int, column: Int, count: Int) {
    owner = .result(result)
    self.row = row
    self.column = column
    self.count = count
  }

  /// Bytes of the caller's, copied once.
  public init(_ bytes: [UInt8]) {
    owner = .array(Storage(bytes))
    row = 0
    column = 0
    count = bytes.count
  }

  /// Lends the bytes.
  public func withUnsafeBytes<R, E: Error>(
    _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    // What the pointer points into must outlive the closure, of which the optimiser knows nothing.
    defer { withExtendedLifetime(owner) {} }
    switch owner {
    case .result(let result):
      return try body(
        result.bytes(row: row, column: column) ?? UnsafeRawBufferPointer(start: nil, count: 0))
    case .array(let storage):
      return try body(UnsafeRawBufferPointer(storage.buffer))
    }
  }

  /// A copy.
  public var bytes: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}

extension Row {
  /// A `bytea` without a copy.
  ///
  /// - Throws: `noSuchColumn`, `typeMismatch`, or `unexpectedNull`.
  public func blob(_ column: some ColumnKey) throws(PostgreSQLError) -> Blob {
    guard let blob = try blobIfPresent(column) else { throw .unexpectedNull(column) }
    return blob
  }

  /// A `bytea` without a copy; nil for NULL.
  ///
  /// - Throws: `noSuchColumn` or `typeMismatch`.
  public func blobIfPresent(_ column: some ColumnKey) throws(PostgreSQLError) -> Blob? {
    let position = try position(column)
    let oid = result.columnType(position)
    guard oid == OID.bytea else { throw .mismatch(column, oid, [UInt8].self) }
    guard let bytes = result.bytes(row: index, column: position) else { return nil }
    return Blob(result: result, row: index, column: position, count: bytes.count)
  }
}
