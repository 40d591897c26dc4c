import CommandLineTool
import Support

/// `analysisctl users token revoke`.
enum UsersTokenRevokeCommand {
  static let number = Argument<Int?>(
    optional: "token", .int(in: 1...Int(Int32.max)),
    help: "The token's number; see analysisctl users token list.")
  static let all = Flag("all", help: "All tokens of the user, as when a device was lost.")

  static let command = ControlCommand(
    "revoke", abstract: "Revoke a token of a user, or all of them.",
    discussion:
      "Nothing is asked with it any more; what the gateway has begun goes on. A token is never valid again.",
    examples: [
      Example("analysisctl users token revoke u1 2", "One."),
      Example("analysisctl users token revoke u1 --all --reason phone-lost", "All."),
    ],
    inputs: [all, ReasonOption.reason, UsersCommand.user, number],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, number) = (try context[UsersCommand.user], try context[number])
    guard (number == nil) == (try context[all]) else {
      throw CommandFailure.usage("give either the number of a token or --all")
    }
    return try await context.withSession { session in
      let count = try await TokenDirectory(session.database).revoke(number, of: user, by: session.actor)
      try session.view.show(UsersTokenRevokeResponse(user: user, count: count))
      return .done
    }
  }
}

/// Tokens that were revoked.
struct UsersTokenRevokeResponse: Sendable, Equatable, Presentable {
  let user: String
  /// How many were valid before.
  let count: Int

  var json: JSONValue { ["user": .string(user), "revoked": .count(count)] }

  func text(width: Int?, paint: Paint) -> String {
    switch count {
    case 0: "no token of \(printable(user)) was valid\n"
    case 1: "revoked a token of \(printable(user))\n"
    default: "revoked \(count) tokens of \(printable(user))\n"
    }
  }
}
