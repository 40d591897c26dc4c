import PostgreSQL

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
