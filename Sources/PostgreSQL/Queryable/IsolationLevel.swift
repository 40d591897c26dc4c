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
