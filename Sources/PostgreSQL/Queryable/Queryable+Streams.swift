extension Queryable {
  /// Runs one statement and hands over its rows as they arrive; while the closure is suspended, the server
  /// waits. Answers the number of rows.
  ///
  /// - Throws: The server's error, the connection's loss, `deadlineExceeded`, `cancelled`, or what the
  ///   closure threw, after which the statement has been cancelled.
  @discardableResult
  public func forEachRow(
    _ sql: String, _ parameters: [Parameter] = [], deadline: Duration? = nil,
    _ body: (Row) async throws -> Void
  ) async throws -> Int {
    try await forEachRow(SQLStatement(sql, parameters), deadline: deadline, body)
  }

  /// Runs one statement and hands over its rows as they arrive; while the closure is suspended, the server
  /// waits. Answers the number of rows.
  ///
  /// - Throws: The server's error, the connection's loss, `deadlineExceeded`, `cancelled`, or what the
  ///   closure threw, after which the statement has been cancelled.
  @discardableResult
  public func forEachRow(
    _ statement: SQLStatement, deadline: Duration? = nil, _ body: (Row) async throws -> Void
  ) async throws -> Int {
    try await streaming(statement, singly: true, deadline: deadline) { rows in
      for row in rows { try await body(row) }
    }
  }

  /// Runs one statement and hands over its rows, some hundreds at a time at the most and at least one, for short rows and
  /// callers to whom a call a row would be dear. Answers the number of rows.
  ///
  /// - Throws: As `forEachRow`.
  @discardableResult
  public func forEachBatch(
    _ statement: SQLStatement, deadline: Duration? = nil, _ body: ([Row]) async throws -> Void
  ) async throws -> Int {
    try await streaming(statement, singly: false, deadline: deadline, body)
  }

  private func streaming(
    _ statement: SQLStatement, singly: Bool, deadline: Duration?, _ body: ([Row]) async throws -> Void
  ) async throws -> Int {
    try await lendingAny(deadline) { scope, until in
      let connection = scope.connection
      let stream = try await connection.beginStream(statement, singly: singly, scope, until: until)
      var count = 0
      do {
        while true {
          let rows = try await connection.nextRows(stream)
          if rows.isEmpty { break }
          try await body(rows)
          count += rows.count
        }
      } catch {
        await connection.endStream(stream)
        throw error
      }
      await connection.endStream(stream)
      return count
    }
  }

  /// Runs `COPY … FROM STDIN` with what the closure writes. Answers the number of rows copied.
  ///
  /// - Throws: The server's error, the connection's loss, `deadlineExceeded`, `cancelled`, or what the
  ///   closure threw; nothing has been copied then.
  @discardableResult
  public func copyIn(
    _ sql: String, deadline: Duration? = nil, _ body: (CopyWriter) async throws -> Void
  ) async throws -> Int {
    try await lendingAny(deadline) { scope, until in
      let connection = scope.connection
      let copy = try await connection.beginCopy(SQLStatement(sql), .copyIn, scope, until: until)
      do {
        try await body(CopyWriter(connection: connection, copy: copy))
      } catch {
        do throws(PostgreSQLError) {
          _ = try await connection.endCopyIn(copy, refusing: "refused by the client")
        } catch {
          // That the server undid it is what was asked for; the caller gets its own error.
        }
        throw error
      }
      return try await connection.endCopyIn(copy)
    }
  }

  /// Runs `COPY … TO STDOUT` and hands over its output, in chunks of whole rows, as it arrives. Answers the
  /// number of rows copied.
  ///
  /// - Throws: The server's error, the connection's loss, `deadlineExceeded`, `cancelled`, or what the
  ///   closure threw, after which the statement has been cancelled.
  @discardableResult
  public func copyOut(
    _ sql: String, label: String? = nil, deadline: Duration? = nil, _ body: ([UInt8]) async throws -> Void
  ) async throws -> Int {
    try await lendingAny(deadline) { scope, until in
      let connection = scope.connection
      let statement = SQLStatement(sql, label: label)
      let copy = try await connection.beginCopy(statement, .copyOut, scope, until: until)
      do {
        while true {
          let chunk = try await connection.nextCopyChunk(copy)
          if chunk.isEmpty { break }
          try await body(chunk)
        }
      } catch {
        _ = await connection.endCopyOut(copy)
        throw error
      }
      return await connection.endCopyOut(copy)
    }
  }
}

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
