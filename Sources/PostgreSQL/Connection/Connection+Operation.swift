internal import EventLoop

/// The life of one call: its turn, its deadline, its cancellation and its end.
extension Connection {
  /// Runs a call that is over when its body is.
  func perform<R>(
    _ scope: ConnectionScope, until: ContinuousClock.Instant, label: String,
    _ body: (Operation) async throws(PostgreSQLError) -> R
  ) async throws(PostgreSQLError) -> R {
    let operation = try await begin(scope, until: until, label: label)
    do throws(PostgreSQLError) {
      let value = try await step(operation, body)
      await end(operation)
      return value
    } catch {
      await end(operation)
      throw error
    }
  }

  /// Waits for the turn.
  ///
  /// - Parameter isShielded: Whether the task's cancellation is to have no effect (its deadline has).
  func begin(
    _ scope: ConnectionScope, until: ContinuousClock.Instant, label: String,
    kind: Operation.Kind = .statement, isShielded: Bool = false
  ) async throws(PostgreSQLError) -> Operation {
    guard let gate = scope.isRoot ? root : scopes[scope.id] else {
      if let loss { throw described(loss, label) }
      throw PostgreSQLError(.misuse, "The transaction is over.", statement: label)
    }
    if let loss { throw described(loss, label) }
    let operation = Operation(
      id: nextID(), label: label, kind: kind, gate: gate, hasEffectsOfItsOwn: scope.isRoot)
    let until = min(until, scope.limit ?? until)
    let left = until - EventLoop.now
    if left <= .zero { throw operation.interrupted(.deadline, outcomeKnown: true) }
    if !isShielded, Task.isCancelled { throw operation.interrupted(.cancellation, outcomeKnown: true) }
    operations[operation.id] = operation
    schedule(operation, after: left) { $0.interrupt($1, .deadline) }
    let refusal: PostgreSQLError?
    if isShielded {
      refusal = await enter(operation)
    } else {
      refusal = await interruptibly(operation) { await self.enter(operation) }
    }
    if let refusal {
      forget(operation)
      throw described(refusal, label)
    }
    // The turn may have come in the same moment as an interruption or the connection's loss.
    if let error = loss ?? operation.interruption.map({ operation.interrupted($0, outcomeKnown: true) }) {
      forget(operation)
      gate.leave()
      throw described(error, label)
    }
    current = operation
    return operation
  }

  private func enter(_ operation: Operation) async -> PostgreSQLError? {
    await operation.gate.enter(operation.id) {
      operation.interruption.map { operation.interrupted($0, outcomeKnown: true) }
    }
  }

  /// Runs a part of the call; while it runs, cancelling the task interrupts it.
  func step<R>(
    _ operation: Operation, _ body: (Operation) async throws(PostgreSQLError) -> R
  ) async throws(PostgreSQLError) -> R {
    let outcome: Result<R, PostgreSQLError> = await interruptibly(operation) {
      do throws(PostgreSQLError) {
        return .success(try await body(operation))
      } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  /// Ends the call and lets the next in line have the wire, when no cancellation is on its way any more:
  /// it would hit the next statement.
  func end(_ operation: Operation, keepingTurn: Bool = false) async {
    operation.isDrained = true
    while operation.isCancelInFlight, loss == nil {
      if wire.hasFailed { loseFailed() } else { await pause() }
    }
    forget(operation)
    condition.isClean = wire.isIdle && listeners.isEmpty && !hasMetReadOnly
    current = nil
    if !keepingTurn { operation.gate.leave() }
    // What came for nobody while rows were not being read, the connection's end among it.
    wire.resumeReading()
    if loss == nil, wire.hasFailed { loseFailed() }
  }

  private func interruptibly<R>(_ operation: Operation, _ body: () async -> R) async -> R {
    let id = operation.id
    return await withTaskCancellationHandler {
      await body()
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.interrupt(id, .cancellation) } }
    }
  }

  private func forget(_ operation: Operation) {
    operations[operation.id] = nil
    for timer in operation.timers { loop.cancel(timer) }
    operation.timers = []
    operation.cancelRequest?.end()
    operation.cancelRequest = nil
  }

  private func described(_ error: PostgreSQLError, _ label: String) -> PostgreSQLError {
    var error = error
    error.statement = label
    return error
  }
}

// MARK: - Interruption

extension Connection {
  func interrupt(_ id: UInt64, _ interruption: Operation.Interruption) {
    guard let operation = operations[id], operation.interruption == nil else { return }
    operation.interruption = interruption
    operation.gate.remove(id, operation.interrupted(interruption, outcomeKnown: true))
    guard operation === current, operation.isSent, !operation.isDrained else { return wake() }
    schedule(operation, after: configuration.cancelGrace) { $0.giveUp($1) }
    requestCancel(id)
    wake()
  }

  /// Asks the server to stop, again and again: a request that comes before the statement has begun is
  /// ignored there, and one request stops only one statement of a pipeline.
  private func requestCancel(_ id: UInt64) {
    guard let operation = operations[id], operation === current, !operation.isDrained else { return }
    operation.isCancelInFlight = true
    if CancelRequest.isAvailable {
      operation.cancelRequest = wire.cancelRequest()
      return advanceCancel(id, isFirst: true)
    }
    let isStarted = wire.cancelKey?.send { [loop, weak self] in
      loop.execute { [weak self] in self?.assumeIsolated { $0.cancelWasSent(id) } }
    }
    if isStarted != true { giveUp(id) }
  }

  /// Where the loop drives it. One that could not be begun counts as sent: the next one comes soon.
  private func advanceCancel(_ id: UInt64, isFirst: Bool = false) {
    guard let request = operations[id]?.cancelRequest else { return cancelWasSent(id) }
    let isOnItsWay = request.advance(isFirst: isFirst) { [weak self] _ in
      self?.assumeIsolated { $0.advanceCancel(id) }
    }
    if !isOnItsWay { cancelWasSent(id) }
  }

  private func cancelWasSent(_ id: UInt64) {
    guard let operation = operations[id] else { return }
    operation.isCancelInFlight = false
    operation.cancelRequest = nil
    schedule(operation, after: .milliseconds(20)) { $0.requestCancel($1) }
    wake()
  }

  private func giveUp(_ id: UInt64) {
    guard let operation = operations[id], operation === current else { return }
    lose(
      PostgreSQLError(.connectionLost, "The server did not obey a cancellation; the connection was dropped."))
  }

  private func schedule(
    _ operation: Operation, after delay: Duration,
    _ action: @escaping @Sendable (isolated Connection, UInt64) -> Void
  ) {
    let id = operation.id
    operation.timers.append(
      loop.schedule(after: delay) { [weak self] in self?.assumeIsolated { action($0, id) } })
  }
}

// MARK: - Reading and writing

extension Connection {
  /// The error of a call whose connection is gone.
  func lossError(_ operation: Operation) -> PostgreSQLError {
    if let interruption = operation.interruption, loss?.code != .closed {
      return operation.interrupted(interruption, outcomeKnown: false)
    }
    var error = loss ?? PostgreSQLError(.connectionLost, "The connection to the server was lost.")
    error.statement = operation.label
    error.mayHaveTakenEffect = operation.isSent && operation.hasEffectsOfItsOwn
    return error
  }

  /// Sends, and gives the connection up when libpq does not take it.
  func send(_ operation: Operation, _ request: () -> Bool) throws(PostgreSQLError) {
    if !operation.isSent, let interruption = operation.interruption {
      throw operation.interrupted(interruption, outcomeKnown: true)
    }
    if !operation.isSent { operation.warningsBefore = wire.notices.warnings }
    operation.isSent = true
    guard request() else {
      loseFailed()
      throw lossError(operation)
    }
    wire.flush()
  }

  /// The next result; nil when there is no more.
  ///
  /// - Throws: The connection's loss, nothing else: errors of the server are results.
  func nextResult(_ operation: Operation) async throws(PostgreSQLError) -> ServerResult? {
    while true {
      guard wire.isOpen else { throw lossError(operation) }
      guard !wire.isBusy else {
        await pause(forResult: true)
        continue
      }
      return try takeResult(operation)
    }
  }

  /// The next result, which is there; nil when there is no more.
  ///
  /// - Throws: As `nextResult`.
  func takeResult(_ operation: Operation) throws(PostgreSQLError) -> ServerResult? {
    let result = wire.nextResult()
    if let result, result.isError { try noteError(result, operation) }
    return result
  }

  /// Remembers the first error of the server's.
  ///
  /// - Throws: The connection's loss: an error of libpq's own, or one after which the server closes.
  func noteError(_ result: ServerResult, _ operation: Operation) throws(PostgreSQLError) {
    let error = PostgreSQLError(result, statement: operation.label)
    if error.sqlState == nil, wire.hasFailed {
      loseFailed()
      throw lossError(operation)
    }
    if result.endsConnection {
      // Nothing more will come but the end.
      lose(error.asLoss)
      throw lossError(operation)
    }
    if error.isReadOnlyServer { hasMetReadOnly = true }
    if operation.failure == nil { operation.failure = error }
  }
}

/// One call's use of a connection, from its place in line to its last answer; used inside the actor.
final class Operation {
  enum Interruption {
    case deadline, cancellation
  }

  enum Kind {
    case statement
    /// Rows are handed out one by one, and not read while nobody asks for them.
    case stream
    case copyIn
    case copyOut
  }

  let id: UInt64
  let label: String
  let kind: Kind
  let gate: ConnectionGate
  /// Whether losing the answer leaves it open if the work was done; not so within a transaction, which
  /// the server undoes with the connection.
  let hasEffectsOfItsOwn: Bool

  var timers: [TimerToken] = []
  var interruption: Interruption?
  var isSent = false
  /// How many warnings had come when it was sent.
  var warningsBefore = 0
  /// Whether all its answers have been read.
  var isDrained = false
  var isCancelInFlight = false
  /// Whether a pipeline began with a group of no statements.
  var hasEmptyGroup = false
  /// The cancellation that is in flight, where the loop drives it.
  var cancelRequest: CancelRequest?
  /// The server's first error.
  var failure: PostgreSQLError?
  /// The last result that is no error: of a stream or COPY, the one that counts the rows.
  var summary: ServerResult?

  init(id: UInt64, label: String, kind: Kind, gate: ConnectionGate, hasEffectsOfItsOwn: Bool) {
    self.id = id
    self.label = label
    self.kind = kind
    self.gate = gate
    self.hasEffectsOfItsOwn = hasEffectsOfItsOwn
  }

  /// The error of a call that was interrupted.
  func interrupted(_ interruption: Interruption, outcomeKnown: Bool) -> PostgreSQLError {
    var error: PostgreSQLError
    switch interruption {
    case .deadline:
      error = PostgreSQLError(.deadlineExceeded, "The deadline passed.", statement: label)
    case .cancellation:
      error = PostgreSQLError(.cancelled, "The call was cancelled.", statement: label)
    }
    error.mayHaveTakenEffect = !outcomeKnown && isSent && hasEffectsOfItsOwn
    return error
  }

  /// The error of a call that succeeded after we had asked to cancel it, and of which the server warned: a
  /// commit that no longer waits for its synchronous standby is done here, and may be lost with this server.
  func unconfirmed(warnings: Int) -> PostgreSQLError? {
    guard let interruption, warnings > warningsBefore else { return nil }
    return interrupted(interruption, outcomeKnown: false)
  }

  /// The server's error as the caller is to see it: a statement that we had cancelled was interrupted.
  func translated(_ failure: PostgreSQLError) -> PostgreSQLError {
    guard let interruption, failure.sqlState == "57014" else { return failure }
    return interrupted(interruption, outcomeKnown: true)
  }
}

/// The line of those that wait for their turn at a connection.
typealias ConnectionGate = TurnGate<PostgreSQLError>
