extension ConnectionPool {
  /// Lends one connection for as long as the closure runs.
  ///
  /// - Parameter deadline: Of the wait for a connection, not of the closure.
  /// - Throws: What the closure threw, or why there is no connection.
  public nonisolated func withConnection<R>(
    deadline: Duration? = nil, _ body: (Connection) async throws -> R
  ) async throws -> R {
    try await lendingAny(deadline) { scope, _ in try await body(scope.connection) }
  }

  /// Runs a closure in a transaction on one of the connections; see `Connection.transaction`.
  ///
  /// - Parameter deadline: Of the whole transaction and the wait for a connection; nil leaves each
  ///   statement, and the wait, to the default.
  /// - Throws: What the closure threw, `commitFailed`, or why there is no connection or transaction.
  public nonisolated func transaction<R>(
    isolation: IsolationLevel? = nil, readOnly: Bool = false, deadline: Duration? = nil,
    _ body: (Transaction) async throws -> R
  ) async throws -> R {
    try await lendingAny(deadline) { scope, until in
      try await scope.connection.transaction(
        isolation: isolation, readOnly: readOnly,
        deadline: deadline.map { _ in until - ContinuousClock.now }, body)
    }
  }
}
