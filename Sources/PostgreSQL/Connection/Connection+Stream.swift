internal import Clibpq
internal import EventLoop

/// Rows one by one. The caller's part of the loop is in `Queryable`, in the caller's isolation; between
/// two calls the operation keeps its turn.
extension Connection {
  /// How many rows, and about how many bytes of them, are handed over at once: enough that a report's
  /// short rows do not cost a switch of tasks each.
  private static let rowsAtOnce = 256
  private static let bytesAtOnce = 1 << 20

  /// Sends the statement; answers the operation's number.
  ///
  /// - Parameter singly: Whether each row is wanted as soon as it is here, even where libpq could wait for more of them.
  func beginStream(
    _ statement: SQLStatement, singly: Bool, _ scope: ConnectionScope, until: ContinuousClock.Instant
  ) async throws(PostgreSQLError) -> UInt64 {
    try check(statement)
    let operation = try await begin(scope, until: until, label: statement.name, kind: .stream)
    do throws(PostgreSQLError) {
      let name = try await step(operation) { operation throws(PostgreSQLError) in
        try await self.preparedName(of: statement, operation)
      }
      try send(operation) {
        send(statement, named: name) && wire.splitRows(singly ? 1 : Connection.rowsAtOnce)
      }
    } catch {
      await end(operation)
      throw error
    }
    return operation.id
  }

  /// The rows that have come, at least one; none at the end.
  func nextRows(_ id: UInt64) async throws(PostgreSQLError) -> [Row] {
    let operation = try open(id)
    return try await step(operation) { operation throws(PostgreSQLError) in
      try await self.readRows(operation)
    }
  }

  private func readRows(_ operation: Operation) async throws(PostgreSQLError) -> [Row] {
    var rows: [Row] = []
    var bytes = 0
    while rows.count < Connection.rowsAtOnce, bytes < Connection.bytesAtOnce, !operation.isDrained {
      if !rows.isEmpty, wire.isBusy { break }
      // What is there is taken without the cost of a suspension a row.
      let next = rows.isEmpty ? try await nextResult(operation) : try takeResult(operation)
      guard let result = next else {
        operation.isDrained = true
        break
      }
      guard result.isPart else {
        if result.isCopy { throw refuseCopy(operation) }
        continue
      }
      guard operation.interruption == nil else { continue }
      if rows.isEmpty { rows.reserveCapacity(Connection.rowsAtOnce) }
      for index in 0..<result.rowCount { rows.append(Row(result: result, index: index)) }
      bytes += result.memorySize
    }
    if rows.isEmpty, let error = streamError(operation) { throw error }
    return rows
  }

  /// Why the stream ended before its last row; known when it has been read to its end.
  private func streamError(_ operation: Operation) -> PostgreSQLError? {
    if let failure = operation.failure {
      if failure.isOfPreparedStatement { prepared.giveUp() }
      return operation.translated(failure)
    }
    // Rows that came after the interruption were dropped.
    return operation.interruption.map { operation.interrupted($0, outcomeKnown: true) }
  }

  /// Ends the stream; what has not been read is cancelled and dropped.
  func endStream(_ id: UInt64) async {
    guard let operation = operations[id] else { return }
    await drain(operation)
    await end(operation)
  }

  /// Has the server stop, and reads what it still sends. Not interruptible: the grace time bounds it.
  func drain(_ operation: Operation) async {
    guard !operation.isDrained, loss == nil else { return }
    interrupt(operation.id, .cancellation)
    do throws(PostgreSQLError) {
      while try await nextResult(operation) != nil {}
    } catch {
      return  // the connection is gone, and with it what was to be read
    }
    operation.isDrained = true
  }

  func open(_ id: UInt64) throws(PostgreSQLError) -> Operation {
    guard let operation = operations[id], operation === current else {
      throw loss ?? PostgreSQLError(.misuse, "The call is over.")
    }
    return operation
  }
}

extension ServerResult {
  /// How many bytes libpq holds for it.
  var memorySize: Int { PQresultMemorySize(pointer) }
}
