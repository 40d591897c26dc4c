internal import EventLoop

extension Connection {
  /// Begins a transaction and keeps the turn for its scope.
  func beginTransaction(
    _ text: String, limit: ContinuousClock.Instant?, _ scope: ConnectionScope,
    until: ContinuousClock.Instant
  ) async throws(PostgreSQLError) -> ConnectionScope {
    let operation = try await begin(scope, until: until, label: text)
    do throws(PostgreSQLError) {
      try await step(operation) { operation throws(PostgreSQLError) in
        guard let path = self.configuration.searchPath else {
          _ = try await self.run(SQLStatement(text), operation)
          return
        }
        try self.send(operation) { self.wire.send(script: "\(text); SET LOCAL search_path = \(path)") }
        _ = try await self.wholeResult(operation)
      }
    } catch {
      await end(operation)
      throw error
    }
    await end(operation, keepingTurn: true)
    let id = nextID()
    scopes[id] = ConnectionGate()
    return ConnectionScope(connection: self, id: id, limit: limit)
  }

  /// Commits, when the transaction's last statement is done. The task's cancellation comes too late for
  /// this: who cancels must know what became of it.
  func commit(_ scope: ConnectionScope, until: ContinuousClock.Instant) async throws(PostgreSQLError) {
    let rows: Rows
    do throws(PostgreSQLError) {
      rows = try await finish("COMMIT", scope, until: until)
    } catch {
      // When COMMIT could not be sent the transaction is still open, and must not be the next caller's.
      if !wire.isIdle {
        lose(
          PostgreSQLError(
            .connectionLost, "A transaction could not be committed; the connection was dropped."))
      }
      closeScope(scope)
      throw error
    }
    closeScope(scope)
    if rows.command == "ROLLBACK" {
      throw PostgreSQLError(
        .commitFailed, "The transaction was rolled back, because a statement in it had failed.",
        statement: "COMMIT")
    }
  }

  /// Rolls back; a connection on which that fails is given up.
  func rollBack(_ scope: ConnectionScope) async {
    let until = EventLoop.now + configuration.cancelGrace
    let scopeWithoutLimit = ConnectionScope(connection: self, id: scope.id, limit: nil)
    do throws(PostgreSQLError) {
      _ = try await finish("ROLLBACK", scopeWithoutLimit, until: until)
    } catch {
      lose(
        PostgreSQLError(
          .connectionLost, "A transaction could not be rolled back; the connection was dropped."))
    }
    closeScope(scope)
  }

  private func finish(
    _ text: String, _ scope: ConnectionScope, until: ContinuousClock.Instant
  ) async throws(PostgreSQLError) -> Rows {
    let operation = try await begin(scope, until: until, label: text, isShielded: true)
    do throws(PostgreSQLError) {
      let rows = try await run(SQLStatement(text), operation)
      await end(operation)
      return rows
    } catch {
      await end(operation)
      // The work hangs on this answer.
      var error = error
      if text == "COMMIT", operation.isSent, error.code != .server { error.mayHaveTakenEffect = true }
      throw error
    }
  }

  private func closeScope(_ scope: ConnectionScope) {
    guard let gate = scopes.removeValue(forKey: scope.id) else { return }
    gate.close(PostgreSQLError(.misuse, "The transaction is over."))
    root.leave()
  }
}
