/// An open transaction; usable until the closure that was given it ends.
public struct Transaction: Queryable {
  let scope: ConnectionScope

  /// The connection's default deadline; the transaction's own caps it.
  public var defaultDeadline: Duration { scope.connection.configuration.defaultDeadline }

  /// The transaction's connection.
  public func lend(until: ContinuousClock.Instant) async throws(PostgreSQLError) -> ConnectionScope {
    scope
  }

  /// Does nothing: the transaction keeps its connection.
  public func giveBack(_ scope: ConnectionScope) async {}

  /// Runs a closure whose statements are undone if it throws, while the transaction goes on.
  ///
  /// - Throws: What the closure threw, or why the savepoint could not be set or released.
  public func savepoint<R>(_ body: () async throws -> R) async throws -> R {
    _ = try await query("SAVEPOINT nested")
    do {
      let value = try await body()
      _ = try await query("RELEASE SAVEPOINT nested")
      return value
    } catch {
      // When this fails too, so does every further statement, and COMMIT says so.
      _ = try? await query("ROLLBACK TO SAVEPOINT nested")
      _ = try? await query("RELEASE SAVEPOINT nested")
      throw error
    }
  }
}

/// What a transaction sees of others that run at the same time.
public enum IsolationLevel: Sendable {
  /// Each statement sees what was committed before it.
  case readCommitted
  /// All statements see what was committed before the first.
  case repeatableRead
  /// As though transactions ran one after the other; one may fail with SQLSTATE 40001 and is to be repeated.
  case serializable

  var sql: String {
    switch self {
    case .readCommitted: "READ COMMITTED"
    case .repeatableRead: "REPEATABLE READ"
    case .serializable: "SERIALIZABLE"
    }
  }
}
