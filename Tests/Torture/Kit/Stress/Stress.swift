import PostgreSQL
import Synchronization

/// What all sessions of the stress know together, and what came of their calls.
final class Stress: Sendable {
  private struct State {
    var facts = StressFacts()
    var readAt: ContinuousClock.Instant?
    /// How many calls each session's transaction has made, by the server's process.
    var inTransaction: [Int32: Int] = [:]
    var seen = StressChecks.Facts()
  }

  private let state = Mutex(State())

  /// What its sessions are called.
  static let applicationName = "torture-stress"
  /// How long a call may take: longer than the locks that it waits for.
  static let bound = Duration.seconds(60)

  var seen: StressChecks.Facts { state.withLock { $0.seen } }

  /// What there is to call functions with. It is read anew twice a second; while the database is away the last holds.
  func facts(from database: ConnectionPool) async -> StressFacts {
    let isDue = state.withLock { state in
      guard state.readAt.map({ ContinuousClock.now - $0 > .milliseconds(500) }) ?? true else { return false }
      state.readAt = .now
      return true
    }
    if isDue, let read = try? await StressFacts.read(from: database) { state.withLock { $0.facts = read } }
    return state.withLock { $0.facts }
  }

  /// Takes note that a session is in so many calls of a transaction; 0: in none.
  func isIn(_ calls: Int, _ process: Int32) { state.withLock { $0.inTransaction[process] = calls } }

  /// Takes note of what came of a call; `error` nil: it was answered.
  func record(_ call: StressCall, of login: String, _ error: PostgreSQLError?) {
    state.withLock { state in
      state.seen.calls[login, default: 0] += 1
      state.seen.functions.insert(call.function)
      guard let error else {
        state.seen.answered += 1
        return
      }
      let refusal = StressChecks.Refusal(error, isOdd: call.isOdd)
      guard let fault = StressChecks.fault(of: refusal, isAlone: { state.inTransaction[$0] == 1 }) else {
        return
      }
      let name = "\(call.function): \(fault)"
      if state.seen.faults[name] == nil { state.seen.faults[name] = "\(login): \(call.sql.prefix(1500))" }
    }
  }
}
