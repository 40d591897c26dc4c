public import PostgreSQL

/// Who is logged in, and which roles of the installation the login has.
public struct DatabaseLogin: Sendable, Equatable {
  /// The login's name, as SQL writes it.
  public let name: String
  /// With what the names of the installation's roles begin.
  public let rolePrefix: String
  /// The roles that it has; a superuser has all of them.
  public let roles: Set<DatabaseRole>

  /// A login with its roles.
  public init(name: String, rolePrefix: String = "analysis", roles: Set<DatabaseRole>) {
    self.name = name
    self.rolePrefix = rolePrefix
    self.roles = roles
  }

  /// Asks the server who is logged in; every login may ask.
  public static func read(_ database: some Queryable) async throws(JobQueueError) -> DatabaseLogin {
    try await Statement(file: "roles/login.sql", while: "looking for the login's roles") {
      rows in
      let row = try rows.single()
      let (name, prefix) = (try row.string("login"), try row.string("prefix"))
      let held = Set(try row.array("roles", of: String.self))
      let roles = DatabaseRole.allCases.filter { held.contains($0.name(prefix: prefix)) }
      return DatabaseLogin(name: name, rolePrefix: prefix, roles: Set(roles))
    }.run(on: database)
  }

  /// What to say when the server refused a call of something that any of some roles may do.
  ///
  /// - Parameter what: The subject of the sentence, for instance "`jobs list`".
  public func refusal(of what: String, needing roles: [DatabaseRole]) -> (message: String, advice: String) {
    let names = roles.map { $0.name(prefix: rolePrefix) }
    guard let missing = roles.first(where: { !self.roles.contains($0) }) else {
      return (
        "\(what) needs a right that the role \(names.joined(separator: " or ")) does not have.",
        "Run analysisctl migrate, which gives the roles what they need."
      )
    }
    return (
      "Login \(name) may not do this: \(what) needs the role \(names.joined(separator: " or ")).",
      "An administrator of the database can grant it: GRANT \(missing.name(prefix: rolePrefix)) TO \(name);"
    )
  }
}

extension JobQueueError {
  /// Whether the server refused a call for want of a role, and gave no advice of its own.
  public var lacksRole: Bool { (underlying as? PostgreSQLError)?.lacksRole ?? false }

  /// The same refusal, with the role that is missing and who can grant it.
  public func naming(_ roles: [DatabaseRole], for what: String, _ login: DatabaseLogin) -> JobQueueError {
    let (message, advice) = login.refusal(of: what, needing: roles)
    return JobQueueError(.permission, message, advice: advice, underlying: underlying)
  }
}

extension PostgreSQLError {
  /// Whether the server refused a call for want of a role, and gave no advice of its own.
  public var lacksRole: Bool { isPermissionDenied && phase == nil && hint == nil }
}
