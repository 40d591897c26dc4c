import CommandLineTool
import Queue
import Support

/// `analysisctl roles check`.
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
      try session.view.show(RolesCheckResponse(prefix: prefix, logins: found))
      return .done
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
