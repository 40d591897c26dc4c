internal import EventLoop

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
  let id: UInt64
  /// The transaction's own deadline.
  let limit: ContinuousClock.Instant?

  init(connection: Connection, id: UInt64 = 0, limit: ContinuousClock.Instant? = nil) {
    self.connection = connection
    self.id = id
    self.limit = limit
  }

  var isRoot: Bool { id == 0 }
}
