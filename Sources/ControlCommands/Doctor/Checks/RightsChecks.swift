import PostgreSQL

/// Whether roles have all that their duty needs, and whether the duties are all that there is between them and the data.
struct RightsChecks: DatabaseCheck {
  let group = "rights"
  let needsSchema = true

  /// A role's duty.
  struct Duty: Sendable, Equatable {
    let role: String
    let name: String
    /// The functions and tables that it was not granted.
    let missing: [String]
    /// Whether this session's role has the duty by it.
    let isOwn: Bool
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let role = try await database.pool.query("SELECT current_user::text").single().string(0)
    let isOwner = try await database.rows("owner").single().bool(0)
    let duties = try await database.rows("rights").map { row in
      Duty(
        role: try row.string(0), name: try row.string(1), missing: try row.array(2, of: String.self),
        isOwn: try row.bool(3))
    }
    return [Self.own(role: role, isOwner: isOwner, duties: duties)] + duties.compactMap(Self.judge)
  }

  static func own(role: String, isOwner: Bool, duties: [Duty]) -> Finding {
    let check = "rights.role"
    if isOwner {
      return .ok(check, "role \(role) owns the schema: it may migrate, and give duties to others")
    }
    let own = Set(duties.filter(\.isOwn).map(\.name)).sorted()
    guard !own.isEmpty else {
      return .wrong(
        check, "role \(role) has no duty: it can neither submit nor work nor read",
        "As an administrator: GRANT analysis_worker TO \(role), or analysis_submitter and the like; or as the "
          + "schema's owner: SELECT analysis.allow('\(role)', 'worker').")
    }
    return .ok(check, "role \(role) is \(own.joined(separator: " and "))")
  }

  static func judge(_ duty: Duty) -> Finding? {
    guard !duty.missing.isEmpty else { return nil }
    return .wrong(
      "rights.duties", "role \(duty.role) is \(duty.name) and may not use \(SchemaChecks.list(duty.missing))",
      "Run analysisctl migrate, which grants what is missing; what a role is to have no more: "
        + "SELECT analysis.disallow('\(duty.role)', '\(duty.name)').")
  }
}
