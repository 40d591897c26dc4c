import CommandLineTool
import Endpoint
import Support

enum AccountLoginCommand {
  static let register = Flag(
    "register", help: "Make the account where the endpoint does not know it; it needs a name.")

  static let command = ControlCommand(
    "login", abstract: "Log in at the endpoint, and say whose account it is.",
    discussion: """
      \(AccountCommand.credentials)

      An endpoint that does not let the account in does not say whether the password is wrong or there is no such \
      account. On a terminal the command then offers to register it; a script gives --register. Without either it is \
      refused. An account whose address is taken is not registered: then it was the password.
      """,
    examples: [
      Example(
        "analysisctl account login --endpoint https://m.org --credentials account",
        "Whose account it is."),
      Example(
        "analysisctl account login --worker-config worker.conf --register --name Ann",
        "Have the worker's account made where there is none."),
    ],
    inputs: EndpointOptions.all + [
      register, AccountCommand.name, AccountCommand.user, ReasonOption.reason,
    ],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    try await context.withAccount(user: try context[AccountCommand.user]) { access in
      let session: Session
      do throws(CallFailure) {
        session = try await access.client.accounts.login(
          email: access.credentials.email, password: access.credentials.password)
      } catch {
        guard error.mayBeUnknownAccount else { throw error }
        return try await show(try await registered(access, after: error), done: "registered", access)
      }
      // Some answers do not describe the account.
      let account = if let user = session.user { user } else { try await access.client.profile() }
      return try await show(account, done: nil, access)
    }
  }

  private static func show(
    _ account: EndpointUser, done: String?, _ access: AccountAccess
  ) async throws -> ExitCode {
    let changes = try await access.takeOver(account, plan: false)
    try access.session.view.show(
      AccountResponse(account: account, done: done, user: access.user, changes: changes))
    return .done
  }

  /// Registers the account if that is wanted.
  private static func registered(
    _ access: AccountAccess, after failure: CallFailure
  ) async throws -> EndpointUser {
    let context = access.session.context
    let unknown =
      "the endpoint does not let this account in (\(failure)): the password may be wrong, or there "
      + "may be no such account"
    if try !context[register] {
      guard let isWanted = try await Confirmation.ask("\(unknown). Register it?", access.session) else {
        throw CommandFailure(
          .refused, unknown,
          advice: "Correct the credentials file, or make the account with --register --name NAME.")
      }
      guard isWanted else {
        throw CommandFailure(.refused, "Nothing was registered, since the answer was not yes.")
      }
    }
    var name = try context[AccountCommand.name] ?? access.credentials.name
    if name == nil { name = try await Confirmation.typed("Name of the account's holder: ", access.session) }
    return try await AccountRegisterCommand.register(access, name: name)
  }
}

extension CallFailure {
  /// Whether the endpoint may mean that there is no such account. 401 and `INVALID_CREDENTIALS` say so of a wrong
  /// password too; a 404 without a code is of a wrong address.
  fileprivate var mayBeUnknownAccount: Bool {
    failureClass == .credentials && (status == 401 || code == "INVALID_CREDENTIALS")
      || status == 404 && code != nil
  }
}

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
      let changes = try await access.takeOver(account, plan: false)
      try access.session.view.show(
        AccountResponse(account: account, done: "registered", user: access.user, changes: changes))
      return .done
    }
  }

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
