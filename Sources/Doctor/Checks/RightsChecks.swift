import JobQueue
import PostgreSQL

/// Whether this login has a role, and whether the roles of the installation have all that they need.
struct RightsChecks: DatabaseCheck {
  let group = "rights"
  let needsSchema = true

  /// A role of the installation.
  struct Role: Sendable, Equatable {
    /// Its name without the prefix.
    let name: String
    /// The functions and tables that it was not granted.
    let missing: [String]
    /// Whether this session's login has it.
    let isOwn: Bool
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let login = try await DatabaseLogin.read(database.pool)
    let isOwner = try await database.rows("owner").single().bool(0)
    // A login without any role may not even ask.
    guard isOwner || !login.roles.isEmpty else { return [Self.own(login, isOwner: false, roles: [])] }
    let roles = try await database.rows("rights").map { row in
      Role(name: try row.string(0), missing: try row.array(1, of: String.self), isOwn: try row.bool(2))
    }
    return [Self.own(login, isOwner: isOwner, roles: roles)] + roles.compactMap { Self.judge($0, login) }
  }

  static func own(_ login: DatabaseLogin, isOwner: Bool, roles: [Role]) -> Finding {
    let check = "rights.role"
    if isOwner { return .ok(check, "login \(login.name) owns the schema, and may run all commands") }
    let own = roles.filter(\.isOwn).map { "\(login.rolePrefix)_\($0.name)" }
    guard !own.isEmpty else {
      return .wrong(
        check, "login \(login.name) has no role: it can neither submit nor work nor read",
        "An administrator of the database can grant one: GRANT \(DatabaseRole.worker.name(prefix: login.rolePrefix)) TO "
          + "\(login.name); or another that analysisctl roles check shows.")
    }
    return .ok(check, "login \(login.name) has the role \(own.joined(separator: " and "))")
  }

  static func judge(_ role: Role, _ login: DatabaseLogin) -> Finding? {
    guard !role.missing.isEmpty else { return nil }
    return .wrong(
      "rights.roles",
      "the role \(login.rolePrefix)_\(role.name) may not use \(SchemaChecks.list(role.missing))",
      "Run analysisctl migrate, which grants what is missing.")
  }
}
