import PostgreSQL
import Support

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

/// What the server ends by itself after a time.
struct TimeoutChecks: DatabaseCheck {
  let group = "timeouts"

  /// A time limit that is set.
  struct Limit: Sendable, Equatable {
    /// `this session`, or `role` and its name.
    let whose: String
    let name: String
    let milliseconds: Int64
  }

  /// What a worker grants its own statements; a lower limit of the server's ends them first.
  private static let statement: Int64 = 30_000

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    Self.judge(
      try await database.rows("timeouts").map { row in
        Limit(whose: try row.string(0), name: try row.string(1), milliseconds: try row.int64(2))
      })
  }

  static func judge(_ limits: [Limit]) -> [Finding] {
    let findings = limits.compactMap(judge)
    return findings.isEmpty ? [.ok("timeouts", "none that would cut a worker")] : findings
  }

  private static func judge(_ limit: Limit) -> Finding? {
    let check = "timeouts.\(limit.name)"
    let message = "\(limit.name) is \(limit.milliseconds) ms for \(limit.whose)"
    let reset = "Set it to 0 for the workers' role: ALTER ROLE … SET \(limit.name) = 0."
    switch limit.name {
    case "statement_timeout", "transaction_timeout", "lock_timeout":
      guard limit.milliseconds < statement else { return nil }
      return limit.milliseconds < 1000
        ? .wrong(check, "\(message): too short for a worker's statements", reset)
        : .warning(check, "\(message): a worker's statements may take 30 s on a bad day", reset)
    case "idle_session_timeout":
      return .warning(check, "\(message): it cuts the connections of an idle worker again and again", reset)
    case "idle_in_transaction_session_timeout":
      guard limit.milliseconds < 1000 else { return nil }
      return .warning(check, "\(message): it may cut a command between two statements", reset)
    default: return nil
    }
  }
}

/// Settings of the database and of roles with which statements do something else, or nothing.
struct SettingChecks: DatabaseCheck {
  let group = "settings"

  private static let settings =
    ConnectionConfiguration.plainSession + [SessionSetting("default_transaction_read_only", "off")]

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let names = Self.settings.map(\.name)
    let findings = try await database.rows("settings", [.array(names)]).compactMap { row in
      Self.judge(
        whose: try row.string(0), name: try row.string(1), value: try row.string(2),
        cure: try row.stringIfPresent(3))
    }
    return findings.isEmpty ? [.ok(group, "none that changes what statements do")] : findings
  }

  static func judge(whose: String, name: String, value: String, cure: String?) -> Finding? {
    guard let setting = settings.first(where: { $0.name.lowercased() == name.lowercased() }),
      value.lowercased() != setting.value, !setting.others.contains(value.lowercased())
    else { return nil }
    // What is read-only for this session `server.writable` tells.
    if cure == nil, name == "default_transaction_read_only" { return nil }
    return .warning(
      "settings.\(name)",
      "\(name) is \(value) for \(whose): back-ends' calls are refused or mean something else, and so do our programs "
        + "through a pooler; on a direct connection they set it for themselves",
      "Take it back: \(cure ?? "see ALTER ROLE, ALTER DATABASE and postgresql.conf"), or set it to \(setting.value)."
    )
  }
}
