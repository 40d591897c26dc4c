public import PostgreSQL
public import Queue

/// The logins of the server and their roles in this installation.
public struct LoginDirectory: Sendable {
  private let database: ConnectionPool

  /// The logins of the server on which a database is.
  public init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Whether this session may make logins.
  func mayMakeLogins() async throws(JobQueueError) -> Bool {
    try await Statement(
      file: "roles/superuser.sql", while: "looking for the right to make logins"
    ) { rows in
      try rows.single().bool("may_make_logins")
    }.run(on: database)
  }

  /// The logins that have a role of the installation, or some by name; the names that no login has are left out.
  func logins(
    named names: [String] = [], prefix: String
  ) async throws(JobQueueError) -> [LoginRoles] {
    let roles = DatabaseRole.allCases.map { $0.name(prefix: prefix) }
    return try await Statement(
      file: "roles/logins.sql", [.array(roles), .array(names)], while: "reading the logins"
    ) { rows in
      try rows.map { row in
        let held = Set(try row.array("roles", of: String.self))
        return LoginRoles(
          login: try row.string("login"), isSuperuser: try row.bool("is_superuser"),
          roles: DatabaseRole.allCases.filter { held.contains($0.name(prefix: prefix)) })
      }
    }.run(on: database)
  }

  /// The statements that make some logins, or give those that are there their role.
  ///
  /// - Parameter passwords: what is made of each login's password, by login; see ``PostgreSQL/Connection/hash(ofPassword:for:)``.
  public func statements(
    for logins: [NewLogin], prefix: String, passwords: [String: String] = [:]
  ) async throws(JobQueueError) -> [LoginStatement] {
    try await Statement(
      file: "roles/setup.sql",
      [
        .array(logins.map(\.name)), .array(logins.map { $0.role?.name(prefix: prefix) }),
        .array(logins.map { passwords[$0.name] }), .array(logins.filter(\.keepsSearchPath).map(\.name)),
        .array(logins.map(\.limits)),
      ], while: "looking for the logins"
    ) { rows in
      try rows.map { row in
        LoginStatement(
          login: try row.string("login"), isThere: try row.bool("is_there"), sql: try row.string("sql"))
      }
    }.run(on: database)
  }

  /// What keeps everybody but the installation's roles out of its database.
  func ownDatabase(prefix: String) async throws(JobQueueError) -> String {
    try await Statement(
      file: "roles/database.sql", [.array(DatabaseRole.allCases.map { $0.name(prefix: prefix) })],
      while: "looking for the database"
    ) { rows in
      try rows.single().string("sql")
    }.run(on: database)
  }

  /// Makes the logins: all of them or none.
  ///
  /// - Parameter last: what is run after them.
  public func make(_ statements: [LoginStatement], then last: String? = nil) async throws(JobQueueError) {
    do {
      try await database.transaction { transaction in
        for statement in statements { try await transaction.execute(script: statement.sql) }
        if let last { try await transaction.execute(script: last) }
      }
    } catch {
      throw JobQueueError(error, while: "making logins")
    }
  }
}

/// A login and its roles.
struct LoginRoles: Sendable, Equatable {
  /// Its name.
  public let login: String
  /// Whether it is a superuser, who has all roles.
  let isSuperuser: Bool
  /// The roles of the installation that it has.
  let roles: [DatabaseRole]
}

/// A login that is to be made, or to get what logins have.
public struct NewLogin: Sendable, Equatable {
  /// Its name.
  public let name: String
  /// The role that it gets; nil: it is there, with its roles, and gets its time limits alone.
  let role: DatabaseRole?
  /// The roles that it has then.
  let held: [DatabaseRole]

  /// A login for a role.
  public init(name: String, role: DatabaseRole) {
    self.name = name
    self.role = role
    held = [role]
  }

  /// A login that is there and keeps its roles.
  init(_ login: LoginRoles) {
    name = login.login
    role = nil
    held = login.roles
  }

  /// Whether the login may be an application with tables of its own in the database, or is left as it is.
  var keepsSearchPath: Bool { role == nil || role == .submitter || role == .owner }

  /// Its time limits, as the statement takes them.
  var limits: String {
    LoginLimits.of(held).settings.map { "\($0.name)=\($0.milliseconds)" }.joined(separator: ",")
  }
}

/// What makes a login.
public struct LoginStatement: Sendable, Equatable {
  /// The login's name.
  public let login: String
  /// Whether there is such a login already.
  let isThere: Bool
  /// What a superuser runs.
  public let sql: String
}

/// How long the statements and transactions of a login may last. These limits are against accidents, such as a
/// terminal that is left with a transaction open: a login may lift its own.
struct LoginLimits: Sendable, Equatable {
  /// A statement; nil: without a limit, here and below.
  let statement: Duration?
  /// The wait for a lock.
  let lock: Duration?
  /// A transaction in which nothing is done.
  let idleInTransaction: Duration?

  /// The limits of a role: far above what the programs need. `docs/access.md` shows the same table.
  static func of(_ role: DatabaseRole) -> LoginLimits {
    switch role {
    // A migration may take long, and sets its own limits.
    case .owner: LoginLimits(statement: nil, lock: nil, idleInTransaction: nil)
    case .submitter:
      LoginLimits(statement: .seconds(300), lock: .seconds(60), idleInTransaction: .seconds(300))
    case .worker, .gateway:
      LoginLimits(statement: .seconds(120), lock: .seconds(30), idleInTransaction: .seconds(60))
    case .reporter, .clinician, .reviewer, .auditor, .privacy, .retention:
      LoginLimits(statement: .seconds(3600), lock: .seconds(60), idleInTransaction: .seconds(600))
    case .operator, .administrator:
      LoginLimits(statement: .seconds(900), lock: .seconds(60), idleInTransaction: .seconds(120))
    }
  }

  /// The limits of a login with these roles: of each the longest.
  static func of(_ roles: some Sequence<DatabaseRole>) -> LoginLimits {
    let all = roles.map { of($0) }
    func longest(_ limits: [Duration?]) -> Duration? {
      limits.contains(nil) ? nil : limits.compactMap { $0 }.max()
    }
    return LoginLimits(
      statement: longest(all.map(\.statement)), lock: longest(all.map(\.lock)),
      idleInTransaction: longest(all.map(\.idleInTransaction)))
  }

  /// The server's settings, in milliseconds; 0: without a limit.
  var settings: [(name: String, milliseconds: Int64)] {
    [
      ("statement_timeout", statement), ("lock_timeout", lock),
      ("idle_in_transaction_session_timeout", idleInTransaction),
    ].map { ($0.0, ($0.1?.components.seconds ?? 0) * 1000) }
  }
}
