public import PostgreSQL

/// Who is logged in, and which roles of the installation the login has.
public struct DatabaseLogin: Sendable, Equatable {
  /// The login's name.
  public let name: String
  /// The same as SQL writes it, for a statement that somebody is advised to run.
  public let quotedName: String
  /// With what the names of the installation's roles begin.
  public let rolePrefix: String
  /// The roles that it has; a superuser has all of them.
  public let roles: Set<DatabaseRole>
  /// The roles whose rights it has only when it acts as them (`NOINHERIT`).
  let dormant: Set<DatabaseRole>
  /// Other logins that have a role, a few of each.
  let others: [DatabaseRole: [String]]

  /// A login with its roles.
  init(
    name: String, quotedName: String? = nil, rolePrefix: String = "analysis", roles: Set<DatabaseRole>,
    dormant: Set<DatabaseRole> = [], others: [DatabaseRole: [String]] = [:]
  ) {
    self.name = name
    self.quotedName = quotedName ?? name
    self.rolePrefix = rolePrefix
    self.roles = roles
    self.dormant = dormant
    self.others = others
  }

  /// Asks the server who is logged in; every login may ask.
  public static func read(_ database: some Queryable) async throws(JobQueueError) -> DatabaseLogin {
    try await Statement(file: "roles/login.sql", while: "looking for the login's roles") {
      rows in
      let row = try rows.single()
      let (name, prefix) = (try row.string("login"), try row.string("prefix"))
      func known(_ column: String) throws -> Set<DatabaseRole> {
        let names = Set(try row.array(column, of: String.self))
        return Set(DatabaseRole.allCases.filter { names.contains($0.name(prefix: prefix)) })
      }
      let others = try row.array("others", of: String.self).map { $0.split(separator: "=", maxSplits: 1) }
      return DatabaseLogin(
        name: name, quotedName: try row.string("quoted"), rolePrefix: prefix, roles: try known("roles"),
        dormant: try known("dormant"),
        others: Dictionary(
          uniqueKeysWithValues: DatabaseRole.allCases.map { role in
            (role, others.filter { $0[0] == role.name(prefix: prefix) }.map { String($0[1]) })
          }))
    }.run(on: database)
  }

  /// Whether it has any of some roles; the schema's owner may do what each of them may.
  public func has(anyOf roles: [DatabaseRole]) -> Bool {
    self.roles.contains(.owner) || !self.roles.isDisjoint(with: roles)
  }

  /// What to say when the server refused a call of something that any of some roles may do: who may do it. Nobody is
  /// advised to take the owner's role, and a login that has a role no second one.
  ///
  /// - Parameter what: The subject of the sentence, for instance "`jobs list`".
  public func refusal(of what: String, needing roles: [DatabaseRole]) -> (message: String, advice: String) {
    let names = roles.map { $0.name(prefix: rolePrefix) }
    guard let missing = roles.first(where: { !self.roles.contains($0) }) else {
      return (
        "\(what) needs a right that the role \(names.joined(separator: " or ")) does not have.",
        "Run analysisctl migrate, which gives the roles what they need. \(logins(with: [.owner]))"
      )
    }
    let message = "Login \(name) may not do this: \(what) needs the role \(names.joined(separator: " or "))."
    if let asRole = takenRole(of: roles) { return (message, asRole) }
    let grant =
      self.roles.isEmpty && missing != .owner
      ? " An administrator of the database can grant it: GRANT \(missing.name(prefix: rolePrefix)) TO \(quotedName);"
      : ""
    return (message, logins(with: roles) + grant)
  }

  /// How it acts as one of some roles that it is a member of without having their rights; nil where it is of none.
  public func takenRole(of roles: [DatabaseRole]) -> String? {
    roles.first(where: dormant.contains).map {
      "It has the rights of \($0.name(prefix: rolePrefix)) only as that role (NOINHERIT): set PGOPTIONS='-c role="
        + "\($0.name(prefix: rolePrefix))', or let an administrator of the database have it inherit them."
    }
  }

  /// Which logins have one of some roles.
  private func logins(with roles: [DatabaseRole]) -> String {
    var names: [String] = []
    for name in roles.flatMap({ others[$0] ?? [] }) where !names.contains(name) { names.append(name) }
    return names.isEmpty
      ? "No login has it: a superuser may do it, or makes the logins with analysisctl roles setup."
      : "Who may: \(names.prefix(3).joined(separator: ", "))."
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
  case owner
  /// Submits, and reads the results of what it names.
  case submitter
  /// Runs `analysis-worker`.
  case worker
  /// Reads the reports that are counts, and closes months.
  case reporter
  /// Reads jobs, their results and the report of analyses.
  case clinician
  /// Reviews analyses as a clinician does, and sees the pictures of those that it may review.
  case reviewer
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
