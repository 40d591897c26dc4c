import PostgreSQL

/// The verification of the audit that somebody began on a page. It reads every entry, for longer than a browser waits:
/// it goes on by itself, one at a time, and its outcome stays until the next one.
actor AuditVerification {
  /// How far it is.
  enum State: Sendable {
    case none
    case running
    case ended(Result<AuditVerdict, any Error>, at: Double)
  }

  private(set) var state = State.none

  /// Begins one, unless one runs.
  ///
  /// - Parameter now: The time at its end, in seconds since 1970.
  func begin(_ database: ConnectionPool, now: @escaping @Sendable () -> Double) {
    if case .running = state { return }
    state = .running
    Task {
      let outcome: Result<AuditVerdict, any Error>
      do { outcome = .success(try await AuditLog(database).verify()) } catch { outcome = .failure(error) }
      self.state = .ended(outcome, at: now())
    }
  }
}
