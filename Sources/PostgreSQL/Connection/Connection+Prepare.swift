internal import Clibpq

/// Having the server keep the statements that come again and again.
extension Connection {
  /// The name under which the server has a statement; nil when it is to be sent whole. Asks the server, where need be,
  /// before the call's own statement is sent.
  func preparedName(
    of statement: SQLStatement, _ operation: Operation
  ) async throws(PostgreSQLError) -> String? {
    guard statement.isRepeated else { return nil }
    let key = PreparedStatements.Key(statement)
    switch prepared.use(key) {
    case .once: return nil
    case .kept(let name): return name
    case .due(let name):
      // An error would undo the transaction that a caller has open.
      guard wire.isIdle else { return nil }
      if prepared.ownsSession == nil {
        let rows = try await aside(operation) {
          self.wire.send(SQLStatement("SELECT pg_catalog.pg_backend_pid()"))
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
