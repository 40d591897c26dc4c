internal import Clibpq
internal import EventLoop

/// COPY as streams. The caller's part of the loop is in `Queryable`; between two calls the operation
/// keeps its turn.
extension Connection {
  private static let chunkSize = 1 << 16

  /// Sends a COPY and waits until the server is ready for it; answers the operation's number.
  func beginCopy(
    _ statement: SQLStatement, _ kind: Operation.Kind, _ scope: ConnectionScope,
    until: ContinuousClock.Instant
  ) async throws(PostgreSQLError) -> UInt64 {
    let operation = try await begin(scope, until: until, label: statement.name, kind: kind)
    do throws(PostgreSQLError) {
      try await step(operation) { operation throws(PostgreSQLError) in
        // By the simple protocol: in the extended one libpq sends a Sync with the statement and another at
        // the end, and a server that fails before it reads the first answers both, one too many.
        try self.send(operation) { self.wire.send(script: statement.sql) }
        try await self.expectCopy(operation)
      }
    } catch {
      await end(operation)
      throw error
    }
    return operation.id
  }

  private func expectCopy(_ operation: Operation) async throws(PostgreSQLError) {
    while let result = try await nextResult(operation) {
      if operation.kind == .copyIn ? result.isCopyIn : result.isCopyOut { return }
      if result.isCopy {
        lose(PostgreSQLError(.connectionLost, "The connection was dropped in the middle of a COPY."))
        throw PostgreSQLError(
          .misuse, "The COPY goes the other way; the connection was dropped.", statement: operation.label)
      }
    }
    if let failure = operation.failure { throw operation.translated(failure) }
    throw PostgreSQLError(.misuse, "The statement is no COPY.", statement: operation.label)
  }

  // MARK: To the server

  /// Sends a part, and waits until the kernel has taken it: no more than one part is ever queued.
  func copy(_ id: UInt64, _ bytes: [UInt8]) async throws(PostgreSQLError) {
    let operation = try open(id)
    try await step(operation) { operation throws(PostgreSQLError) in
      guard operation.interruption == nil else { throw operation.copyInterrupted }
      guard self.wire.put(bytes) else {
        self.loseFailed()
        throw self.lossError(operation)
      }
      while !self.wire.flush() {
        await self.pause()
        guard operation.interruption == nil else { throw operation.copyInterrupted }
      }
      if self.wire.hasFailed { throw await self.copyFailure(operation) }
    }
  }

  /// Ends a COPY to the server; with a reason, the server undoes it. Answers the number of rows.
  func endCopyIn(_ id: UInt64, refusing reason: String? = nil) async throws(PostgreSQLError) -> Int {
    let operation = try open(id)
    do throws(PostgreSQLError) {
      let rows = try await step(operation) { operation throws(PostgreSQLError) in
        let reason = operation.interruption == nil ? reason : "interrupted"
        try self.send(operation) { self.wire.endCopy(refusing: reason) }
        while try await self.nextResult(operation).map({ self.keep($0, operation) }) != nil {}
        operation.isDrained = true
        if let failure = operation.failure { throw operation.translated(failure) }
        return operation.summary?.affectedRows ?? 0
      }
      await end(operation)
      return rows
    } catch {
      await end(operation)
      throw error
    }
  }

  // MARK: From the server

  /// Whole rows that have come; empty at the end.
  func nextCopyChunk(_ id: UInt64) async throws(PostgreSQLError) -> [UInt8] {
    let operation = try open(id)
    return try await step(operation) { operation throws(PostgreSQLError) in
      try await self.readCopy(operation)
    }
  }

  private func readCopy(_ operation: Operation) async throws(PostgreSQLError) -> [UInt8] {
    var chunk: [UInt8] = []
    while !operation.isDrained, chunk.count < Connection.chunkSize {
      guard wire.isOpen else { throw lossError(operation) }
      switch wire.takeCopyRow(into: &chunk) {
      case .row:
        if operation.interruption != nil { chunk = [] }
      case .wait where !chunk.isEmpty && operation.interruption == nil:
        return chunk
      case .wait:
        if wire.hasFailed { throw await copyFailure(operation) }
        await pause()
      case .end, .failed:
        while try await nextResult(operation).map({ keep($0, operation) }) != nil {}
        operation.isDrained = true
      }
    }
    if chunk.isEmpty {
      if let failure = operation.failure { throw operation.translated(failure) }
      if let interruption = operation.interruption {
        throw operation.interrupted(interruption, outcomeKnown: true)
      }
    }
    return chunk
  }

  /// Ends a COPY from the server; what has not been read is cancelled and dropped. Answers the rows sent.
  func endCopyOut(_ id: UInt64) async -> Int {
    guard let operation = operations[id] else { return 0 }
    if !operation.isDrained, loss == nil {
      interrupt(operation.id, .cancellation)
      // Fails with our own cancellation when the end is reached, or with the connection.
      while !operation.isDrained, loss == nil {
        do throws(PostgreSQLError) { _ = try await readCopy(operation) } catch { break }
      }
    }
    await end(operation)
    return operation.summary?.affectedRows ?? 0
  }

  private func keep(_ result: ServerResult, _ operation: Operation) {
    if !result.isError, !result.isCopy { operation.summary = result }
  }

  /// What the server said before it went, if anything.
  private func copyFailure(_ operation: Operation) async -> PostgreSQLError {
    loseFailed()
    return lossError(operation)
  }
}

extension Operation {
  fileprivate var copyInterrupted: PostgreSQLError {
    interrupted(interruption ?? .cancellation, outcomeKnown: true)
  }
}
