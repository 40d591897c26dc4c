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

  /// Whether it has any of some roles; the schema's owner may do what each of them may.
  public func has(anyOf roles: [DatabaseRole]) -> Bool {
    self.roles.contains(.owner) || !self.roles.isDisjoint(with: roles)
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

/// A kind of work, which is a group role of the database that cannot log in. A login gets it by GRANT.
public enum DatabaseRole: String, CaseIterable, Sendable {
  /// Owns the schema.
  case owner
  /// Submits, and reads the results of what it names.
  case submitter
  /// Runs `analysis-worker`.
  case worker
  /// Reads the reports that are counts, and closes months.
  case reporter
  /// Reads jobs, their results and the report of analyses.
  case clinician
  /// Pauses, retries and cancels, and reads why jobs failed.
  case `operator`
  /// Looks after users, plans and clinics.
  case administrator
  /// Reads the audit and recounts.
  case auditor
  /// Exports and erases what is kept of a person.
  case privacy
  /// Removes what is past its time.
  case retention
  /// Runs `analysis-gateway`: acts for the users whose tokens it is given.
  case gateway

  /// Its name in an installation whose roles begin with a prefix.
  public func name(prefix: String) -> String { "\(prefix)_\(rawValue)" }
}
