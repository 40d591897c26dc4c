import Formatting
import PostgreSQL

/// Sessions that hold others up.
struct SessionChecks: DatabaseCheck {
  let group = "sessions"

  /// A lock that is waited for longer is more than two statements that met; a worker itself never waits for
  /// longer than its statement may take.
  private static let lockWait = 10.0

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    guard try await database.seesOthers() else {
      return [.skipped("sessions", "this role does not see other roles' sessions", AskedDatabase.blind)]
    }
    let limit = database.longTransaction.inSeconds
    let idle = try await database.rows("idle", [.double(limit)]).map { row in
      Self.idle(
        process: try row.int(0), program: try row.string(1), role: try row.string(2),
        seconds: try row.double(3))
    }
    let waits = try await database.rows("lock_waits", [.double(min(limit, Self.lockWait))]).map { row in
      Self.waiting(
        process: try row.int(0), for: try row.string(1), what: try row.string(2), seconds: try row.double(3))
    }
    return (idle.isEmpty ? [.ok("sessions.idle", "none that holds a transaction and does nothing")] : idle)
      + (waits.isEmpty ? [.ok("sessions.locks", "nobody waits long for a lock")] : waits)
  }

  static func idle(process: Int, program: String, role: String, seconds: Double) -> Finding {
    .warning(
      "sessions.idle",
      "process \(process) (\(program), \(role)) has held a transaction for \(Moment.age(seconds)) and does nothing",
      "End it in its program, or by SELECT pg_terminate_backend(\(process)). It keeps locks, and dead rows in the "
        + "queue's tables.")
  }

  static func waiting(process: Int, for blockers: String, what: String, seconds: Double) -> Finding {
    .warning(
      "sessions.locks",
      "process \(process) has waited \(Moment.age(seconds)) for \(what), held by \(blockers)",
      "See what the holder does: SELECT * FROM pg_stat_activity WHERE pid IN (\(blockers)).")
  }
}
