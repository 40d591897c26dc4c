import CommandLineTool
import Glibc
import PostgreSQL
import Queue
import Support

enum RolesSetupCommand {
  static let out = Option(
    "out", short: "o", .folder, default: ".",
    help: "Write the password files to this folder, LOGIN.pgpass each.")
  static let ownDatabase = Flag(
    "own-database",
    help:
      "Let nobody but the installation's roles connect to the database. Other logins that use it need a GRANT."
  )
  static let dryRun = Flag("dry-run", help: "Print the SQL, without passwords, and run none of it.")

  static let command = ControlCommand(
    "setup", abstract: "Make a login for each part of an installation. A superuser runs it.",
    discussion: """
      The logins are worker, backend, accounts, clinician, reviewer, operations, office, auditor, privacy, keeper, gateway and \
      upgrades, each with the role of its work; in an installation with a role prefix of its own, worker_PREFIX and so on. Each gets a \
      random password, which is in its password file of mode 0600 alone: the server is sent a hash. A login that is there \
      already keeps its password, and gets its role. Every login that has a role of the installation gets the time limits \
      of its roles, which are in docs/access.md.

      More logins are made by hand: CREATE ROLE worker2 LOGIN IN ROLE analysis_worker;
      """,
    examples: [
      Example("analysisctl roles setup --out /etc/analysis", "Make them, with their password files."),
      Example("analysisctl roles setup --dry-run", "Read the SQL first."),
    ],
    inputs: [out, ownDatabase, dryRun],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (folder, isDry) = (try context[out], try context[dryRun])
    let ownsDatabase = try context[ownDatabase]
    return try await context.withSession { session in
      let setup = RolesSetup(database: session.database, folder: folder, ownsDatabase: ownsDatabase)
      return try session.show(
        isDry ? try await setup.plan() : try await setup.run())
    }
  }
}

struct RolesSetup: Sendable {
  let database: ConnectionPool
  let folder: String
  /// Whether nobody else is to connect to the database.
  let ownsDatabase: Bool

  /// The parts of an installation.
  static let parts: [(login: String, role: DatabaseRole)] = [
    ("worker", .worker), ("backend", .submitter), ("accounts", .reporter), ("clinician", .clinician),
    ("reviewer", .reviewer), ("operations", .operator), ("office", .administrator), ("auditor", .auditor),
    ("privacy", .privacy),
    ("keeper", .retention), ("gateway", .gateway), ("upgrades", .owner),
  ]

  /// What would be run; nothing is made.
  func plan() async throws -> RolesSetupResponse {
    let prefix = try await DatabaseLogin.read(database).rolePrefix
    let directory = LoginDirectory(database)
    let logins = try await logins(directory, prefix)
    let statements = try await directory.statements(for: logins, prefix: prefix)
    return response(
      logins, statements, prefix, isDry: true, database: try await databaseStatement(directory, prefix))
  }

  /// Makes what is missing: the password files first, then all logins at once.
  func run() async throws -> RolesSetupResponse {
    let login = try await DatabaseLogin.read(database)
    let directory = LoginDirectory(database)
    guard try await directory.mayMakeLogins() else {
      throw CommandFailure(
        .permission, "login \(login.name) may not make logins, which takes a superuser of the server",
        advice: "Run it as a superuser, or give one what --dry-run prints.")
    }
    let logins = try await logins(directory, login.rolePrefix)
    let present = Set(
      try await directory.statements(for: logins, prefix: login.rolePrefix).filter(\.isThere).map(\.login))
    let missing = logins.map(\.name).filter { !present.contains($0) }
    for name in missing where access(path(name), F_OK) == 0 {
      throw CommandFailure(
        .refused, "\(path(name)) is there already, and there is no login \(name)",
        advice: "Move the file away, so that it is not lost, and run this again.")
    }
    let passwords = Dictionary(uniqueKeysWithValues: missing.map { ($0, Self.randomPassword()) })
    let hashes = try await database.withConnection { connection in
      var hashes: [String: String] = [:]
      for (name, password) in passwords {
        hashes[name] = try await connection.hash(ofPassword: password, for: name)
      }
      return hashes
    }
    let statements = try await directory.statements(for: logins, prefix: login.rolePrefix, passwords: hashes)
    let last = try await databaseStatement(directory, login.rolePrefix)
    var written: [String] = []
    do {
      for name in missing {
        var file = try AtomicFile(path(name))
        try file.write("*:*:*:*:\(passwords[name] ?? "")\n")
        written.append(try file.commit().path)
      }
      try await directory.make(statements, then: last)
    } catch {
      for path in written { unlink(path) }
      throw error
    }
    return response(logins, statements, login.rolePrefix, isDry: false, database: last)
  }

  /// Those of the parts, and what else has a role of the installation.
  private func logins(
    _ directory: LoginDirectory, _ prefix: String
  ) async throws(JobQueueError) -> [NewLogin] {
    let parts = Self.parts.map {
      NewLogin(name: prefix == "analysis" ? $0.login : "\($0.login)_\(prefix)", role: $0.role)
    }
    let names = Set(parts.map(\.name))
    return parts
      + (try await directory.logins(prefix: prefix)).filter { !names.contains($0.login) }.map { NewLogin($0) }
  }

  private func databaseStatement(
    _ directory: LoginDirectory, _ prefix: String
  ) async throws(JobQueueError) -> String? {
    ownsDatabase ? try await directory.ownDatabase(prefix: prefix) : nil
  }

  /// 192 random bits in letters, digits, - and _.
  private static func randomPassword() -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var generator = SystemRandomNumberGenerator()
    return String((0..<32).map { _ in letters[Int.random(in: 0..<64, using: &generator)] })
  }

  private func path(_ login: String) -> String { "\(folder)/\(login).pgpass" }

  private func response(
    _ logins: [NewLogin], _ statements: [LoginStatement], _ prefix: String, isDry: Bool, database: String?
  ) -> RolesSetupResponse {
    let found = Dictionary(uniqueKeysWithValues: statements.map { ($0.login, $0) })
    return RolesSetupResponse(
      isDry: isDry,
      logins: logins.compactMap { login in
        found[login.name].map {
          RolesSetupResponse.Login(
            name: login.name, role: login.role?.name(prefix: prefix), isThere: $0.isThere, sql: $0.sql,
            passwordFile: $0.isThere ? nil : path(login.name))
        }
      }, database: database)
  }
}

/// The logins that were made, or would be.
struct RolesSetupResponse: Sendable, Equatable, Presentable {
  struct Login: Sendable, Equatable {
    let name: String
    /// The role that it got; nil: it had its roles.
    let role: String?
    /// Whether it was there before.
    let isThere: Bool
    let sql: String
    /// Where its password is; nil for one that was there.
    let passwordFile: String?
  }

  let isDry: Bool
  let logins: [Login]
  /// What keeps others out of the database; nil: it stays as open as it is.
  let database: String?

  var json: JSONValue {
    .array(
      logins.map { login in
        [
          "login": .string(login.name), "role": .text(login.role),
          "made": .bool(!isDry && !login.isThere),
          "password_file": .text(login.passwordFile), "sql": isDry ? .string(login.sql) : .null,
        ]
      })
  }

  func text(width: Int?, paint: Paint) -> String {
    if isDry {
      return logins.map { login in
        login.sql.drop { $0 == " " } + (login.passwordFile.map { " -- and a password, kept in \($0)" } ?? "")
          + "\n"
      }.joined() + (database.map { "\($0)\n" } ?? "")
    }
    let table = logins.table([
      .init("LOGIN") { Cell($0.name) },
      .init("ROLE") { Cell($0.role ?? "its own") },
      .init("PASSWORD FILE", wraps: true) {
        Cell($0.passwordFile ?? "was there already, keeps its password")
      },
    ])
    return table.render(width: width, paint: paint)
      + (database == nil ? "" : "Nobody but the roles of the installation connects to the database now.\n")
  }
}

enum RolesCheckCommand {
  static let logins = Argument(
    repeating: "login", .string,
    help: "Logins by name; all that have a role of the installation unless given.")

  static let command = ControlCommand(
    "check", abstract: "Show which commands each login may run.",
    examples: [
      Example("analysisctl roles check", "All logins that have a role."),
      Example("analysisctl roles check alice", "One login."),
    ],
    inputs: [logins], exitCodes: [.done, .refused, .usage, .unreachable, .tryLater],
    keepsEnd: false
  ) { context in
    let names = try context[logins]
    return try await context.withSession(schema: .none) { session in
      let prefix = try await DatabaseLogin.read(session.database).rolePrefix
      let found = try await LoginDirectory(session.database).logins(named: names, prefix: prefix)
      if let unknown = names.first(where: { name in !found.contains { $0.login == name } }) {
        throw CommandFailure(
          .refused, "there is no login \(unknown)", advice: "Make it: CREATE ROLE \(unknown) LOGIN;")
      }
      return try session.show(RolesCheckResponse(prefix: prefix, logins: found))
    }
  }
}

/// The logins with their roles.
struct RolesCheckResponse: Sendable, Equatable, Presentable {
  let prefix: String
  let logins: [LoginRoles]

  /// What a login may run, by the name of its program.
  private func commands(_ login: LoginRoles) -> [String] {
    let roles: Set<DatabaseRole> = login.isSuperuser ? [.owner] : Set(login.roles)
    let programs = [("analysis-worker", DatabaseRole.worker), ("analysis-gateway", .gateway)]
      .filter { !roles.isDisjoint(with: [.owner, $0.1]) }.map(\.0)
    return programs + CommandRoles.commands(for: roles).map { "analysisctl \($0)" }
  }

  var json: JSONValue {
    .array(
      logins.map { login in
        [
          "login": .string(login.login), "superuser": .bool(login.isSuperuser),
          "roles": .array(login.roles.map { .string($0.name(prefix: prefix)) }),
          "commands": .array(commands(login).map(JSONValue.string)),
        ]
      })
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !logins.isEmpty else {
      return "No login has a role of this installation. Make them with analysisctl roles setup.\n"
    }
    return logins.map { login in
      let roles =
        login.isSuperuser
        ? "superuser" : login.roles.map { $0.name(prefix: prefix) }.joined(separator: ", ")
      let head = "\(printable(login.login)) (\(roles.isEmpty ? "no role" : roles))\n"
      return head + commands(login).map { "  \($0)\n" }.joined()
    }.joined(separator: "\n")
  }
}

enum RolesCommand {
  static let command = ControlCommand(
    "roles", abstract: "Make the logins of an installation, and show what each login may do.",
    discussion: """
      Each kind of work is a role of the database that cannot log in. A login gets it by a plain GRANT, from a \
      superuser or whoever has the role WITH ADMIN OPTION: GRANT analysis_operator TO alice;
      """,
    examples: [
      Example("analysisctl roles setup --out /etc/analysis", "Make a login for each part."),
      Example("analysisctl roles check", "See which command each login may run."),
    ],
    subcommands: [RolesSetupCommand.command, RolesCheckCommand.command])
}
