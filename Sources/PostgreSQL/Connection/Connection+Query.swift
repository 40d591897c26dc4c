internal import Clibpq
internal import EventLoop

extension Connection {
  /// One statement, its whole result.
  func run(
    _ statement: SQLStatement, _ scope: ConnectionScope, until: ContinuousClock.Instant
  ) async throws(PostgreSQLError) -> Rows {
    try check(statement)
    if scope.isRoot, configuration.searchPath != nil, !statement.namesSchemas {
      let results = try await run(pipeline: [statement], atomic: true, scope, until: until)
      guard let result = results.first else {
        throw PostgreSQLError(.unexpectedResult, "The server sent no answer.", statement: statement.name)
      }
      return try result.get()
    }
    return try await perform(scope, until: until, label: statement.name) {
      operation throws(PostgreSQLError) in
      try await self.run(statement, operation)
    }
  }

  /// One statement within an operation.
  func run(_ statement: SQLStatement, _ operation: Operation) async throws(PostgreSQLError) -> Rows {
    let name = try await preparedName(of: statement, operation)
    try send(operation) { send(statement, named: name) }
    do throws(PostgreSQLError) {
      return Rows(try await wholeResult(operation))
    } catch {
      guard name != nil, error.isOfPreparedStatement else { throw error }
      prepared.giveUp()
      guard wire.isIdle else { throw error }
      operation.failure = nil
      try send(operation) { wire.send(statement) }
      return Rows(try await wholeResult(operation))
    }
  }

  /// Several statements, without parameters, their results dropped.
  func run(
    script: String, _ scope: ConnectionScope, until: ContinuousClock.Instant
  ) async throws(PostgreSQLError) {
    let label = ServerText.label(script)
    try await perform(scope, until: until, label: label) { operation throws(PostgreSQLError) in
      try self.send(operation) { self.wire.send(script: script) }
      _ = try await self.wholeResult(operation)
    }
  }

  /// Reads to the end; the last result, or the first error.
  func wholeResult(_ operation: Operation) async throws(PostgreSQLError) -> ServerResult {
    while let result = try await nextResult(operation) {
      if result.isError { continue }
      if result.isCopy { throw refuseCopy(operation) }
      operation.summary = result
    }
    if let failure = operation.failure { throw operation.translated(failure) }
    if let unconfirmed = operation.unconfirmed(warnings: wire.notices.warnings) { throw unconfirmed }
    guard let summary = operation.summary else {
      throw PostgreSQLError(.unexpectedResult, "The server sent no answer.", statement: operation.label)
    }
    return summary
  }

  /// A COPY that nobody feeds or reads would hold the connection for ever.
  func refuseCopy(_ operation: Operation) -> PostgreSQLError {
    lose(PostgreSQLError(.connectionLost, "The connection was dropped in the middle of a COPY."))
    return PostgreSQLError(
      .misuse, "COPY is called by copyIn or copyOut; the connection was dropped.", statement: operation.label)
  }

  /// What libpq and the protocol cannot take.
  func check(_ statement: SQLStatement) throws(PostgreSQLError) {
    guard statement.parameters.count <= Int(UInt16.max) else {
      throw PostgreSQLError(
        .misuse, "A statement has at most 65535 parameters; pass an array.", statement: statement.name)
    }
    for case .bytes(let bytes) in statement.parameters.lazy.map(\.payload) where bytes.count > 1 << 30 {
      throw PostgreSQLError(.misuse, "A parameter has at most 1 GiB.", statement: statement.name)
    }
  }
}
