import PostgreSQL

extension ReportsError {
  /// Any error as one of this module's, which are left as they are.
  init(wrapping error: any Error, timeout: Duration) {
    switch error {
    case let error as ReportsError: self = error
    case let error as PostgreSQLError: self.init(error, timeout: timeout)
    default: self.init(interruptedBy: error)
    }
  }

  /// The stream threw, or the task was cancelled.
  init(interruptedBy error: any Error) {
    let cause = error is CancellationError ? "it was cancelled" : "\(error)"
    self.init(.interrupted, "the report was broken off: \(cause)", underlying: error)
  }

  private init(_ error: PostgreSQLError, timeout: Duration) {
    switch error.sqlState {
    case _ where error.code == .deadlineExceeded, "57014":  // query_canceled: by statement_timeout
      self.init(
        .database, "the report took longer than \(timeout)", advice: "allow it more time, or ask a replica",
        underlying: error)
    case _ where error.code == .cancelled:
      self.init(interruptedBy: CancellationError())
    case _ where error.isSchemaLacking:
      self.init(
        .schema, "the database has no schema for reports: \(error)", advice: "run `analysisctl migrate`",
        underlying: error)
    case _ where error.isPermissionDenied:
      self.init(
        .database,
        error.hint == nil ? "the login lacks a role of the database for this report" : error.message,
        advice: error.hint ?? "see which it needs with analysisctl roles check", underlying: error)
    case _ where error.isReadOnlyServer:
      self.init(
        .unreachable,
        "who reads this is recorded first, and the database takes no changes (a standby)",
        advice:
          "name all servers as host=a,b and add target_session_attrs=read-write",
        underlying: error)
    default:
      self.init(
        error.isConnectionLoss ? .unreachable : .database, "the report could not be read: \(error)",
        underlying: error)
    }
  }
}
