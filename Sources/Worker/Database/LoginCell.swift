internal import JobQueue
internal import Synchronization

/// Who is logged in at the database: errors for want of a role name the role and the login.
final class LoginCell: Sendable {
  private let login = Mutex<DatabaseLogin?>(nil)

  /// Keeps what the server said last.
  func keep(_ login: DatabaseLogin) { self.login.withLock { $0 = login } }

  /// The error as it is, or, where the login lacks the worker's role, one that says so.
  func named(_ error: JobQueueError) -> JobQueueError {
    guard error.lacksRole, let login = login.withLock({ $0 }) else { return error }
    return error.naming([.worker], for: "analysis-worker", login)
  }
}
