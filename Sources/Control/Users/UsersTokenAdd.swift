import CommandLineTool
import Images
import Queue
import Support

/// `analysisctl users token add`.
enum UsersTokenAddCommand {
  static let label = Option<String?>(
    "label", .string, help: "What the token is for, such as phone: 1 to 100 characters.")
  static let expires = Option<Expiry?>(
    "expires", .expiry,
    help:
      "When it ends: after a time (90d), with a day (2026-12-31, by UTC) or at a time. Never unless given.")

  static let command = ControlCommand(
    "add", abstract: "Make a token of a user, and print it.",
    discussion: """
      The token is printed this once, and kept nowhere. Give it to the user's app, which sends it as \
      Authorization: Bearer. Who has it reads the user's analyses.
      """,
    examples: [
      Example("analysisctl users token add u1", "One that holds until it is revoked."),
      Example("analysisctl users token add u1 --label phone --expires 90d", "One that ends by itself."),
    ],
    inputs: [label, expires, ReasonOption.reason, UsersCommand.user],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, label) = (try context[UsersCommand.user], try context[label])
    let expires = try context[expires]
    return try await context.withSession { session in
      let expiresAt = try await expires?.moment(session.database)
      let token = try UserToken(shard: try await ShardDirectory(session.database).shard(of: user))
      let number = try await TokenDirectory(session.database).add(
        token.hash, of: user, inShard: token.shard, label: label, expiresAt: expiresAt, by: session.actor)
      try session.view.show(
        UsersTokenAddResponse(user: user, number: number, token: token.text, expiresAt: expiresAt))
      return .done
    }
  }
}

/// A token that was made.
struct UsersTokenAddResponse: Sendable, Equatable, Presentable {
  let user: String
  let number: Int
  let token: String
  /// Seconds since 1970; nil for never.
  let expiresAt: Double?

  var json: JSONValue {
    [
      "user": .string(user), "token": .count(number), "secret": .string(token),
      "expires_at": .time(expiresAt),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    """
    added token \(number) of \(printable(user))\(expiresAt.map { ", until \(Moment.short($0))" } ?? "")
    \(token)
    The token is shown this once. Give it to the user's app.

    """
  }
}
