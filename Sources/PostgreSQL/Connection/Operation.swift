internal import EventLoop

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
  let gate: TurnGate
  /// Whether losing the answer leaves it open if the work was done; not so within a transaction, which
  /// the server undoes with the connection.
  let hasEffectsOfItsOwn: Bool

  /// Who counts it, and since when it has the connection.
  let count = StatementCount.current
  var began: ContinuousClock.Instant?
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

  init(id: UInt64, label: String, kind: Kind, gate: TurnGate, hasEffectsOfItsOwn: Bool) {
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
