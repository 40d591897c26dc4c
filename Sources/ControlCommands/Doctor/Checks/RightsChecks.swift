import PostgreSQL

/// Whether roles have all that their duty needs: a release may add to it, and it is granted again after each
/// migrate.
struct RightsChecks: DatabaseCheck {
  let group = "rights"
  let needsSchema = true

  /// A role's duty.
  struct Duty: Sendable, Equatable {
    let role: String
    let name: String
    /// The functions and tables that it was not granted.
    let missing: [String]
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let role = try await database.pool.query("SELECT current_user::text").single().string(0)
    let isOwner = try await database.rows("owner").single().bool(0)
    let duties = try await database.rows("rights").map { row in
      Duty(role: try row.string(0), name: try row.string(1), missing: try row.array(2, of: String.self))
    }
    return [Self.own(role: role, isOwner: isOwner, duties: duties)] + duties.compactMap(Self.judge)
  }

  static func own(role: String, isOwner: Bool, duties: [Duty]) -> Finding {
    let check = "rights.role"
    if isOwner { return .ok(check, "role \(role) owns the schema: it may migrate, pause, bill and report") }
    let own = duties.filter { $0.role == role }.map(\.name)
    guard !own.isEmpty else {
      return .wrong(
        check, "role \(role) has no duty: it can neither submit nor work nor read",
        "As the owner: SELECT analysis.allow('\(role)', 'worker'), or 'submitter', or 'reader'.")
    }
    return .ok(check, "role \(role) is \(own.joined(separator: " and "))")
  }

  static func judge(_ duty: Duty) -> Finding? {
    guard !duty.missing.isEmpty else { return nil }
    return .wrong(
      "rights.duties", "role \(duty.role) is \(duty.name) and may not use \(SchemaChecks.list(duty.missing))",
      "Grant the duty again, as after each migrate: SELECT analysis.allow('\(duty.role)', '\(duty.name)').")
  }
}
