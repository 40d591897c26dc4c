/// Where the closure of `copyIn` writes the data, in the format the COPY names.
public struct CopyWriter: Sendable {
  /// What is given to libpq at once; larger writes are cut.
  private static let partSize = 1 << 18

  let connection: Connection
  let copy: UInt64

  /// Sends bytes, which need not end with a row, and waits until they are on their way.
  ///
  /// - Throws: The connection's loss, `deadlineExceeded` or `cancelled`. What the server has against the
  ///   data is known at the end of the COPY.
  public func write(_ bytes: [UInt8]) async throws(PostgreSQLError) {
    guard bytes.count > CopyWriter.partSize else { return try await connection.copy(copy, bytes) }
    for start in stride(from: 0, to: bytes.count, by: CopyWriter.partSize) {
      let end = min(start + CopyWriter.partSize, bytes.count)
      try await connection.copy(copy, Array(bytes[start..<end]))
    }
  }

  /// Sends text as UTF-8.
  ///
  /// - Throws: As for bytes.
  public func write(_ text: String) async throws(PostgreSQLError) {
    try await write(Array(text.utf8))
  }
}
