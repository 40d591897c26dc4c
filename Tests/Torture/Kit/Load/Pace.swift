import PostgreSQL
import Synchronization

/// Holds those who submit when much is waiting, and stops them at the end.
final class Pace: Sendable {
  private struct State {
    var waiting = 0
    var isOver = false
  }

  private let state = Mutex(State())
  private let backlog: Int

  init(backlog: Int) {
    self.backlog = backlog
  }

  /// Waits while too much is waiting; false when it is time to end.
  func mayGoOn() async -> Bool {
    while true {
      let (waiting, isOver) = state.withLock { ($0.waiting, $0.isOver) }
      if isOver { return false }
      if waiting < backlog { return true }
      try? await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Waits after so many failures in a row: what is away does not come back sooner for being asked at once.
  func pause(after failures: Int) async {
    try? await Task.sleep(for: .milliseconds(50 << min(failures, 4)))
  }

  /// Nothing is to be submitted any more.
  func end() { state.withLock { $0.isOver = true } }

  /// Counts what is waiting again and again until the end; while the database is away the last count holds.
  func watch(_ database: ConnectionPool) async {
    while !state.withLock({ $0.isOver }) {
      if let row = try? await database.query(
        "SELECT count(*) FROM analysis.ready", deadline: .seconds(2)
      ).first, let count = try? row.int64(0) {
        state.withLock { $0.waiting = Int(count) }
      }
      try? await Task.sleep(for: .milliseconds(100))
    }
  }
}
