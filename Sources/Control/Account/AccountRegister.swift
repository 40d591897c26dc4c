import CommandLineTool
import Endpoint
import Support

/// `analysisctl account register`.
enum AccountRegisterCommand {
  static let command = ControlCommand(
    "register", abstract: "Make an account at the endpoint.",
    discussion: """
      \(AccountCommand.credentials)

      The file may hold the holder's name too (name = …). An address that has an account already is refused.
      """,
    examples: [
      Example(
        "analysisctl account register --worker-config worker.conf --name Ann",
        "Make it.")
    ],
    inputs: EndpointOptions.all + [AccountCommand.name, AccountCommand.user, ReasonOption.reason],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    try await context.withAccount(user: try context[AccountCommand.user]) { access in
      let name = try context[AccountCommand.name] ?? access.credentials.name
      let account = try await register(access, name: name)
      let changes = try await access.takeOver(account)
      try access.session.view.show(
        AccountResponse(account: account, done: "registered", user: access.user, changes: changes))
      return .done
    }
  }

  /// Makes the account.
  static func register(_ access: AccountAccess, name: String?) async throws -> EndpointUser {
    guard let name, !name.isEmpty else {
      throw CommandFailure.usage(
        "an account is registered under a name, and none is given",
        advice: "Give --name, or add name = … to the credentials file.")
    }
    do throws(CallFailure) {
      let made = try await access.client.accounts.register(
        email: access.credentials.email, password: access.credentials.password, name: name)
      if let user = made.user { return user }
    } catch {
      guard error.status == 409 else { throw error }
      throw CommandFailure(
        .refused, "the endpoint registers no second account with this e-mail address: \(error)",
        advice: "There is one: put its password into the credentials file.")
    }
    // It is made, and the answer does not describe it.
    return try await access.client.profile()
  }
}
