internal import EventLoop

/// What can run statements: a pool, a connection or a transaction.
///
/// Every call has a deadline, counted from the call, waiting for a connection or a turn included; nil
/// stands for the configuration's `defaultDeadline`. Closures run in the caller's isolation.
public protocol Queryable: Sendable {
  /// The deadline of a call that gives none.
  var defaultDeadline: Duration { get }
  /// Hands out the connection that the next call is to use; called by the methods below, before each.
  func lend(until: ContinuousClock.Instant) async throws(PostgreSQLError) -> ConnectionScope
  /// Takes it back; called after each.
  func giveBack(_ scope: ConnectionScope) async
}

extension Queryable {
  /// Runs one statement and answers its whole result.
  ///
  /// - Throws: The server's error, the connection's loss, `deadlineExceeded` or `cancelled`.
  public func query(
    _ sql: String, _ parameters: [Parameter] = [], deadline: Duration? = nil
  ) async throws(PostgreSQLError) -> Rows {
    try await query(SQLStatement(sql, parameters), deadline: deadline)
  }

  /// Runs one statement and answers its whole result.
  ///
  /// - Throws: The server's error, the connection's loss, `deadlineExceeded` or `cancelled`.
  public func query(
    _ statement: SQLStatement, deadline: Duration? = nil
  ) async throws(PostgreSQLError) -> Rows {
    try await lending(deadline) { scope, until throws(PostgreSQLError) in
      try await scope.connection.run(statement, scope, until: until)
    }
  }

  /// Runs many statements in one write, each a transaction of its own, and answers their results in order:
  /// one that fails does not touch the others.
  ///
  /// - Parameter atomic: Whether all are one transaction, as they always are within a `Transaction`: the
  ///   first error then undoes those before it, and those after it fail with `aborted`.
  /// - Throws: Only when nothing could be sent; what happens later is in the results.
  public func pipeline(
    _ statements: [SQLStatement], atomic: Bool = false, deadline: Duration? = nil
  ) async throws(PostgreSQLError) -> [Result<Rows, PostgreSQLError>] {
    try await lending(deadline) { scope, until throws(PostgreSQLError) in
      try await scope.connection.run(pipeline: statements, atomic: atomic, scope, until: until)
    }
  }

  /// Runs several statements separated by semicolons, without parameters, and drops their results. They
  /// are one transaction unless the script says otherwise.
  ///
  /// - Throws: The first error of the server, the connection's loss, `deadlineExceeded` or `cancelled`.
  public func execute(script: String, deadline: Duration? = nil) async throws(PostgreSQLError) {
    try await lending(deadline) { scope, until throws(PostgreSQLError) in
      try await scope.connection.run(script: script, scope, until: until)
    }
  }

  func lending<R>(
    _ deadline: Duration?,
    _ body: (ConnectionScope, ContinuousClock.Instant) async throws(PostgreSQLError) -> R
  ) async throws(PostgreSQLError) -> R {
    let until = EventLoop.now + (deadline ?? defaultDeadline)
    let scope = try await lend(until: until)
    do throws(PostgreSQLError) {
      let value = try await body(scope, until)
      await giveBack(scope)
      return value
    } catch {
      await giveBack(scope)
      throw error
    }
  }

  /// The same for closures of the caller's, which throw what they like.
  func lendingAny<R>(
    _ deadline: Duration?, _ body: (ConnectionScope, ContinuousClock.Instant) async throws -> R
  ) async throws -> R {
    let until = EventLoop.now + (deadline ?? defaultDeadline)
    let scope = try await lend(until: until)
    do {
      let value = try await body(scope, until)
      await giveBack(scope)
      return value
    } catch {
      await giveBack(scope)
      throw error
    }
  }
}

extension Connection {
  /// The configuration's.
  public nonisolated var defaultDeadline: Duration { configuration.defaultDeadline }

  /// The connection itself.
  public nonisolated func lend(until: ContinuousClock.Instant) async throws(PostgreSQLError)
    -> ConnectionScope
  {
    ConnectionScope(connection: self)
  }

  /// Does nothing.
  public nonisolated func giveBack(_ scope: ConnectionScope) async {}

  /// Runs a closure in a transaction: committed when it returns, rolled back when it throws. Calls from
  /// elsewhere wait until it is over; calls on the connection itself, instead of the transaction, from
  /// within the closure would wait for themselves.
  ///
  /// - Parameters:
  ///   - isolation: nil for the server's default.
  ///   - deadline: Of the whole transaction; nil leaves each statement to its own.
  /// - Throws: What the closure threw; `commitFailed`; or the error of BEGIN or COMMIT, of which one that
  ///   lost the connection has `mayHaveTakenEffect`.
  public nonisolated func transaction<R>(
    isolation: IsolationLevel? = nil, readOnly: Bool = false, deadline: Duration? = nil,
    _ body: (Transaction) async throws -> R
  ) async throws -> R {
    var text = "BEGIN"
    if let isolation { text += " ISOLATION LEVEL \(isolation.sql)" }
    if readOnly { text += " READ ONLY" }
    let limit = deadline.map { EventLoop.now + $0 }
    let scope = try await beginTransaction(
      text, limit: limit, ConnectionScope(connection: self),
      until: limit ?? EventLoop.now + configuration.defaultDeadline)
    let value: R
    do {
      value = try await body(Transaction(scope: scope))
    } catch {
      await rollBack(scope)
      throw error
    }
    if let limit, EventLoop.now >= limit {
      await rollBack(scope)
      throw PostgreSQLError(.deadlineExceeded, "The transaction's deadline passed before COMMIT.")
    }
    try await commit(scope, until: EventLoop.now + configuration.defaultDeadline)
    return value
  }
}

/// A connection as one call uses it: by itself, or within a transaction.
public struct ConnectionScope: Sendable {
  let connection: Connection
  /// The transaction's line; 0 outside of one.
  var id: UInt64 = 0
  /// The transaction's own deadline.
  var limit: ContinuousClock.Instant?

  var isRoot: Bool { id == 0 }
}
