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

/// Having the server keep the statements that come again and again.
extension Connection {
  /// The name under which the server has a statement; nil when it is to be sent whole. Asks the server, where need be,
  /// before the call's own statement is sent.
  func preparedName(
    of statement: SQLStatement, _ operation: Operation
  ) async throws(PostgreSQLError) -> String? {
    guard statement.isRepeated, configuration.keepsStatements else { return nil }
    let key = PreparedStatements.Key(statement)
    switch prepared.use(key) {
    case .once: return nil
    case .kept(let name): return name
    case .due(let name):
      // An error would undo the transaction that a caller has open.
      guard wire.isIdle else { return nil }
      if prepared.ownsSession == nil {
        let rows = try await aside(operation) {
          self.wire.send(.serverProcess)
        }
        let process = try? Rows(rows).single().int32(0)
        prepared.ownsSession = process == backendPID
        if process != backendPID { return nil }
      }
      do throws(PostgreSQLError) {
        _ = try await aside(operation) { self.wire.prepare(statement, as: name) }
      } catch {
        // Sent whole, the statement shows its fault itself.
        guard error.code == .server else { throw error }
        return nil
      }
      prepared.keep(key, name)
      return name
    }
  }

  /// Asks the server something on the call's behalf that changes nothing; the call is as if it had not begun.
  private func aside(
    _ operation: Operation, _ request: () -> Bool
  ) async throws(PostgreSQLError) -> ServerResult {
    defer {
      operation.failure = nil
      operation.summary = nil
      operation.isSent = false
    }
    try send(operation, request)
    return try await wholeResult(operation)
  }

  /// Sends a statement, by its name where it has one.
  func send(_ statement: SQLStatement, named name: String?) -> Bool {
    if let name { wire.send(statement, named: name) } else { wire.send(statement) }
  }
}

/// What a connection knows of the statements that its server keeps parsed; used inside the actor.
///
/// Named statements belong to a session. Behind a pooler the next call may meet another session, so they are used
/// only where the session is known to be the connection's own: the server's process is then the one that was named
/// when the connection was made, while a pooler names one of its own.
struct PreparedStatements {
  /// A text, and the types with which it is called.
  struct Key: Hashable {
    let sql: String
    let types: [UInt32]

    init(_ statement: SQLStatement) {
      sql = statement.sql
      types = statement.parameters.map(\.oid)
    }
  }

  enum Use: Equatable {
    /// Under this name the server has it.
    case kept(String)
    /// It is worth to be kept, under this name.
    case due(String)
    case once
  }

  /// What is made for the third time will be made again.
  private static let usesBefore = 2
  /// A bound on what is kept, here and by the server: the queue's own statements are fewer.
  private static let limit = 64

  /// Whether the session is the connection's own; nil before anybody has asked.
  var ownsSession: Bool?
  private var uses: [Key: Int] = [:]
  private var names: [Key: String] = [:]

  /// How a statement is to be sent, which counts as a use of it.
  mutating func use(_ key: Key) -> Use {
    guard ownsSession != false else { return .once }
    if let name = names[key] { return .kept(name) }
    guard names.count < Self.limit, uses.count < 2 * Self.limit || uses[key] != nil else { return .once }
    let count = uses[key, default: 0] + 1
    uses[key] = count
    return count > Self.usesBefore ? .due("s\(names.count + 1)") : .once
  }

  mutating func keep(_ key: Key, _ name: String) {
    names[key] = name
    uses[key] = nil
  }

  /// Uses no name any more on this connection.
  mutating func giveUp() {
    ownsSession = false
    names = [:]
    uses = [:]
  }
}

extension PostgreSQLError {
  /// Whether it speaks of the kept form of a statement: the server has none of that name, or what the statement
  /// answers has changed since. Nothing was run.
  var isOfPreparedStatement: Bool { sqlState == "26000" || sqlState == "0A000" }
}

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
