import CommandLineTool
import Endpoint
import Support

/// `analysisctl account subscribe`.
enum AccountSubscribeCommand {
  static let subscription = Argument(
    "subscription", .choice(Subscription.self), help: "The account's subscription from now on.")
  static let paymentToken = Option<String?>(
    "payment-token", .path,
    help: "File with the token by which it is paid, or - for standard input; it stands on no command line.")

  static let command = ControlCommand(
    "subscribe", abstract: "Change the account's subscription at the endpoint.",
    discussion: """
      \(AccountCommand.credentials)

      With --user the user here gets the plan of the same name.
      """,
    examples: [
      Example(
        "analysisctl account subscribe premium --worker-config worker.conf",
        "Subscribe; --payment-token - reads a token by which it is paid."),
      Example(
        "analysisctl account subscribe free --user u1 --worker-config worker.conf",
        "End it, and give the user here the plan free."),
    ],
    inputs: EndpointOptions.all + [
      paymentToken, AccountCommand.user, ReasonOption.reason, subscription,
    ],
    exitCodes: [.done, .refused, .usage, .unreadableInput, .unreachable, .tryLater, .permission]
  ) { context in
    let (wanted, user) = (try context[subscription], try context[AccountCommand.user])
    let token = try await token(context)
    return try await context.withAccount(user: user) { access in
      var account = try await access.client.updateSubscription(wanted, paymentToken: token)
      // It is changed, and the answer does not describe it.
      if account == nil { account = try await access.client.profile() }
      guard let account else { return .done }
      let changes = try await access.takeOver(account)
      try access.session.view.show(
        AccountResponse(account: account, done: "subscribed", user: user, changes: changes))
      return .done
    }
  }

  private static func token(_ context: ControlContext) async throws -> Secret? {
    guard let path = try context[paymentToken] else { return nil }
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) {
      try path == "-" ? context.dependencies.standardInput(8192) : InputFile.readText(path, limit: 8192)
    }
    let text = String(decoding: try await reading.value, as: UTF8.self)
    let token = text.split(whereSeparator: \.isWhitespace)
    guard token.count == 1, let token = token.first else {
      throw CommandFailure(.unreadableInput, "the payment token is not one word")
    }
    return Secret(String(token))
  }
}
