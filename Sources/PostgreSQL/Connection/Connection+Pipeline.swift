internal import Clibpq
internal import EventLoop

extension Connection {
  /// Many statements in one write.
  ///
  /// - Parameter atomic: Whether they are one group, that is one transaction, instead of one each.
  func run(
    pipeline statements: [SQLStatement], atomic: Bool, _ scope: ConnectionScope,
    until: ContinuousClock.Instant
  ) async throws(PostgreSQLError) -> [Result<Rows, PostgreSQLError>] {
    if let path = configuration.searchPath, atomic, scope.isRoot,
      statements.contains(where: { !$0.namesSchemas })
    {
      let results = try await send(
        pipeline: [.pin(path)] + statements.map(\.unrepeated), atomic: atomic, scope, until: until,
        label: statements[0].name)
      // What kept the path from being set is why the statements were not run.
      if case .failure = results.first { return statements.map { _ in results[0] } }
      return Array(results.dropFirst())
    }
    return try await send(
      pipeline: statements, atomic: atomic, scope, until: until, label: statements.first?.name ?? "")
  }

  private func send(
    pipeline statements: [SQLStatement], atomic: Bool, _ scope: ConnectionScope,
    until: ContinuousClock.Instant, label: String
  ) async throws(PostgreSQLError) -> [Result<Rows, PostgreSQLError>] {
    guard !statements.isEmpty else { return [] }
    for statement in statements { try check(statement) }
    let oneGroup = atomic || !scope.isRoot
    return try await perform(scope, until: until, label: label) { operation throws(PostgreSQLError) in
      do throws(PostgreSQLError) {
        var names: [String?] = []
        for statement in statements { names.append(try await self.preparedName(of: statement, operation)) }
        try self.send(operation) { self.queue(statements, names, oneGroup, operation) }
      } catch {
        return statements.map { _ in .failure(error) }
      }
      return await self.results(of: statements, oneGroup, operation)
    }
  }

  private func queue(
    _ statements: [SQLStatement], _ names: [String?], _ oneGroup: Bool, _ operation: Operation
  ) -> Bool {
    guard wire.enterPipeline() else { return false }
    // An empty group, with which libpq forgets that rows were to come in parts.
    operation.hasEmptyGroup = wire.splitsRows
    if operation.hasEmptyGroup, !wire.sync() { return false }
    for (index, statement) in statements.enumerated() {
      guard send(statement, named: names[index]) else { return false }
      guard !oneGroup || index == statements.count - 1 else { continue }
      guard wire.sync() else { return false }
    }
    return true
  }

  /// Reads every statement's answer; what was answered before the connection went is not lost with it.
  private func results(
    of statements: [SQLStatement], _ oneGroup: Bool, _ operation: Operation
  ) async -> [Result<Rows, PostgreSQLError>] {
    var results: [Result<Rows, PostgreSQLError>] = []
    do throws(PostgreSQLError) {
      if operation.hasEmptyGroup { _ = try await syncError(statements[0], operation) }
      for (index, statement) in statements.enumerated() {
        let result = try await result(of: statement, operation)
        let endsGroup = !oneGroup || index == statements.count - 1
        // A statement that succeeded is committed only when its group's Sync has been answered.
        let commit = endsGroup ? try await syncError(statement, operation) : nil
        if let commit, oneGroup { results = results.map { _ in .failure(commit) } }
        results.append(commit.map { .failure($0) } ?? result)
      }
      guard wire.exitPipeline() else {
        throw PostgreSQLError(.unexpectedResult, "The server sent more than was asked for.")
      }
    } catch {
      lose(PostgreSQLError(.connectionLost, "The connection was dropped in the middle of a pipeline."))
      // A group whose Sync was not answered may have been undone with the connection.
      if oneGroup { results = [] }
      for statement in statements.dropFirst(results.count) {
        var error = error
        error.statement = statement.name
        results.append(.failure(error))
      }
    }
    return results
  }

  private func result(
    of statement: SQLStatement, _ operation: Operation
  ) async throws(PostgreSQLError) -> Result<Rows, PostgreSQLError> {
    operation.failure = nil
    operation.summary = nil
    var isAborted = false
    while let result = try await nextResult(operation) {
      if result.isError { continue }
      if result.isCopy { throw refuseCopy(operation) }
      if result.isAborted { isAborted = true } else { operation.summary = result }
    }
    if var failure = operation.failure {
      if failure.isOfPreparedStatement { prepared.giveUp() }
      failure.statement = statement.name
      return .failure(operation.translated(failure))
    }
    if !isAborted, let summary = operation.summary { return .success(Rows(summary)) }
    return .failure(
      PostgreSQLError(
        .aborted, "It was not run, because a statement before it failed.", statement: statement.name))
  }

  /// Reads the answer to a Sync; the error is that of the commit, if it failed (a deferred constraint).
  private func syncError(
    _ statement: SQLStatement, _ operation: Operation
  ) async throws(PostgreSQLError) -> PostgreSQLError? {
    operation.failure = nil
    // The Sync's answer is alone, or after the commit's error and its end.
    for _ in 0..<4 {
      guard let result = try await nextResult(operation), result.isSync else { continue }
      guard var failure = operation.failure else {
        return operation.unconfirmed(warnings: wire.notices.warnings)
      }
      failure.statement = statement.name
      return operation.translated(failure)
    }
    guard wire.hasFailed else {
      throw PostgreSQLError(.unexpectedResult, "The server's answers are out of step.")
    }
    loseFailed()
    throw lossError(operation)
  }
}
