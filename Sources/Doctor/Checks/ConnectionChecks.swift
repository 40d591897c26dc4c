import PostgreSQL

/// Whether there are connections enough.
struct ConnectionChecks: DatabaseCheck {
  let group = "connections"

  /// How many a worker holds.
  static let ofWorker = 6

  /// A bound and what is used of it.
  struct Use: Sendable, Equatable {
    /// What is bounded, for instance `role worker`.
    let what: String
    let used: Int
    let limit: Int
    /// How the bound is raised.
    let remedy: String
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("connections").single()
    let role = try row.string(7)
    var uses = [
      Use(
        what: "the server", used: try row.int(2), limit: try row.int(0) - (try row.int(1)),
        remedy: "Raise max_connections, or put a pooler before the server.")
    ]
    let ofDatabase = try row.int(3)
    if ofDatabase >= 0 {
      uses.append(
        Use(
          what: "this database", used: try row.int(4), limit: ofDatabase,
          remedy: "Raise it: ALTER DATABASE … CONNECTION LIMIT …"))
    }
    let ofRole = try row.int(5)
    if ofRole >= 0 {
      uses.append(
        Use(
          what: "role \(role)", used: try row.int(6), limit: ofRole,
          remedy: "Raise it: ALTER ROLE … CONNECTION LIMIT …"))
    }
    return uses.map(Self.judge)
  }

  static func judge(_ use: Use) -> Finding {
    let check = "connections"
    let message = "\(use.used) of the \(use.limit) connections of \(use.what) are in use"
    if use.limit < ofWorker {
      return .wrong(check, "\(message); one worker alone needs \(ofWorker)", use.remedy)
    }
    if use.limit - use.used < ofWorker {
      return .warning(
        check, "\(message): too few are left for one more worker, which needs \(ofWorker)", use.remedy)
    }
    guard use.used * 5 <= use.limit * 4 else {
      return .warning(check, "\(message): more than four in five", use.remedy)
    }
    return .ok(check, message)
  }
}
