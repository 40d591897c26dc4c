import PostgreSQL
import Queue
import Support

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
      if let advice = login.takenRole(of: DatabaseRole.allCases) {
        return .wrong(check, "login \(login.name) has no role's rights by itself", advice)
      }
      return .wrong(
        check, "login \(login.name) has no role: it can neither submit nor work nor read",
        "An administrator of the database can grant one: GRANT \(DatabaseRole.worker.name(prefix: login.rolePrefix)) TO "
          + "\(login.quotedName); or another that analysisctl roles check shows.")
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

/// Whether the schema belongs to the role that is made for it, which can do nothing else.
struct OwnershipCheck: DatabaseCheck {
  let group = "rights.owner"
  let needsSchema = true

  struct Facts: Sendable, Equatable {
    /// The role that is to own the schema.
    let owner: String
    /// The roles of the installation that the server does not have.
    let absent: [String]
    /// Those of them that may log in, or are superusers.
    let tooStrong: [String]
    /// What belongs to others, with the owner.
    let others: [String]
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("ownership").single()
    return [
      Self.judge(
        Facts(
          owner: try row.string(0), absent: try row.array(1, of: String.self),
          tooStrong: try row.array(2, of: String.self), others: try row.array(3, of: String.self)))
    ]
  }

  static func judge(_ facts: Facts) -> Finding {
    let check = "rights.owner"
    if !facts.absent.isEmpty {
      return .wrong(
        check, "the server has no role \(facts.absent.joined(separator: ", "))",
        "As an administrator: " + facts.absent.map { "CREATE ROLE \($0) NOLOGIN;" }.joined(separator: " ")
          + " Then run analysisctl migrate.")
    }
    if !facts.tooStrong.isEmpty {
      return .wrong(
        check, "\(facts.tooStrong.joined(separator: ", ")) may log in or is a superuser, and is a group only",
        facts.tooStrong.map { "ALTER ROLE \($0) NOLOGIN NOSUPERUSER;" }.joined(separator: " "))
    }
    if !facts.others.isEmpty {
      return .warning(
        check,
        "\(facts.owner) does not own \(SchemaChecks.list(facts.others)): functions run with their owner's rights",
        "Run analysisctl migrate as a superuser, or as a member of \(facts.owner) that owns them.")
    }
    return .ok(check, "everything belongs to \(facts.owner), which cannot log in")
  }
}

/// Whether the roles that are to see some clinics only are kept to them by what they may do.
struct ViewerCheck: DatabaseCheck {
  let group = "rights.clinics"
  let needsSchema = true

  /// A role that is restricted to clinics.
  struct Viewer: Sendable, Equatable {
    let role: String
    let isThere: Bool
    /// The role that has the number which is kept for this one; nil when there is none but itself.
    let other: String?
    /// Its roles beside those that know clinics.
    let roles: [String]
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let viewers = try await database.rows("viewers").map { row in
      Viewer(
        role: try row.string(0), isThere: try row.bool(1), other: try row.stringIfPresent(2),
        roles: try row.array(3, of: String.self))
    }
    return viewers.compactMap(Self.judge)
  }

  static func judge(_ viewer: Viewer) -> Finding? {
    let check = "rights.clinics"
    if let other = viewer.other {
      guard viewer.isThere else {
        return .warning(
          check,
          "role \(viewer.role) is restricted to clinics, and there is no such role: \(other), which has its "
            + "number, is taken for it while nothing else says what that one sees",
          "If it was renamed: analysisctl clinics grant \(other) with the same clinics, then analysisctl clinics grant "
            + "\(viewer.role) --all.")
      }
      return .warning(
        check,
        "role \(viewer.role) is restricted to clinics under a number that is \(other)'s, as after a dump was restored",
        "Run analysisctl migrate, which takes the numbers that roles have here.")
    }
    guard viewer.isThere else {
      return .warning(
        check, "role \(viewer.role) is restricted to clinics, and there is no such role",
        "If it was dropped for good: analysisctl clinics grant \(viewer.role) --all.")
    }
    guard !viewer.roles.isEmpty else { return nil }
    return .warning(
      check,
      "role \(viewer.role) is restricted to clinics, and as \(viewer.roles.joined(separator: " and ")) it meets "
        + "the jobs of all",
      "Let it be reporter or clinician only, and give the others to another login.")
  }
}

/// Whether what is recorded comes into the chain of the audit.
struct AuditCheck: DatabaseCheck {
  let group = "audit"
  let needsSchema = true

  /// A worker chains every second.
  private static let patience = 60.0

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("drafts").single()
    return [
      Self.judge(
        count: try row.int(0), age: try row.doubleIfPresent(1), holders: try row.array(2, of: String.self))
    ]
  }

  /// - Parameter holders: The sessions and prepared transactions that hold the end of the chain.
  static func judge(count: Int, age: Double?, holders: [String]) -> Finding {
    guard let age else { return .ok("audit.drafts", "what is recorded is chained") }
    let waiting = "\(count) entries are not chained, the oldest for \(Moment.age(age))"
    guard age > patience else { return .ok("audit.drafts", waiting) }
    guard !holders.isEmpty else {
      return .wrong("audit.drafts", waiting, "A worker chains them every second: look whether one runs.")
    }
    return .wrong(
      "audit.drafts", "\(waiting): \(SchemaChecks.list(holders)) holds the end of the chain",
      "End that transaction, as a superuser: SELECT pg_terminate_backend(PROCESS); or ROLLBACK PREPARED.")
  }
}

/// Whether the logins have the time limits of their roles.
struct LoginLimitCheck: DatabaseCheck {
  let group = "rights.limits"
  let needsSchema = true

  /// A login, its roles, and the limits that are set for it in milliseconds, in the order of ``LoginLimits/settings``.
  struct Login: Sendable, Equatable {
    let name: String
    let roles: [DatabaseRole]
    let set: [Int64?]
  }

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let logins = try await database.rows("login_limits").map { row in
      Login(
        name: try row.string(0),
        roles: try row.array(1, of: String.self).compactMap(DatabaseRole.init(rawValue:)),
        set: try row.array(2, of: Int64.self).map { $0 < 0 ? nil : $0 })
    }
    return [Self.judge(logins)]
  }

  static func judge(_ logins: [Login]) -> Finding {
    let check = "rights.limits"
    let others = logins.compactMap(deviation)
    guard !others.isEmpty else { return .ok(check, "each login has the time limits of its roles") }
    return .warning(
      check, "other time limits than docs/access.md has: \(SchemaChecks.list(others))",
      "As a superuser, analysisctl roles setup sets those of every login, and makes the logins that are missing."
    )
  }

  private static func deviation(_ login: Login) -> String? {
    let wrong = zip(LoginLimits.of(login.roles).settings, login.set).filter { wanted, set in
      // Nothing set is no limit, unless the server's configuration has one.
      (set ?? 0) != wanted.milliseconds
    }
    guard !wrong.isEmpty else { return nil }
    return login.name + " ("
      + wrong.map { wanted, set in "\(wanted.name) \(set.map { "\($0) ms" } ?? "not set")" }
      .joined(separator: ", ") + ")"
  }
}

/// What everybody who can log in to the server may do with the database.
struct PublicCheck: DatabaseCheck {
  let group = "rights.database"

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    let row = try await database.rows("public").single()
    return [Self.judge(try row.string(0), try row.array(1, of: String.self))]
  }

  static func judge(_ database: String, _ open: [String]) -> Finding {
    let check = "rights.database"
    guard !open.isEmpty else { return .ok(check, "only who was granted it connects to the database") }
    return .warning(
      check, "every login of the server has \(open.joined(separator: " and ")) on the database \(database)",
      "If the database is this installation's own: analysisctl roles setup --own-database.")
  }
}
