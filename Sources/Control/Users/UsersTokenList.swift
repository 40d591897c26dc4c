import CommandLineTool
import Support

/// `analysisctl users token list`.
enum UsersTokenListCommand {
  static let command = ControlCommand(
    "list", abstract: "List the tokens of a user.",
    discussion: """
      The token itself is shown by none: the database does not have it. LAST USED is a day by UTC.
      """,
    examples: [
      Example("analysisctl users token list u1", "All of a user, by number."),
      Example("analysisctl users token list u1 --json", "For a program."),
    ],
    inputs: [UsersCommand.user], exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let user = try context[UsersCommand.user]
    return try await context.withSession { session in
      _ = try await UserDirectory(session.database).required(user)
      let tokens = try await TokenDirectory(session.database).list(of: user)
      try session.view.show(UsersTokenListResponse(user: user, tokens: tokens))
      return .done
    }
  }
}

/// The tokens of a user.
struct UsersTokenListResponse: Sendable, Equatable, Presentable {
  let user: String
  let tokens: [TokenRecord]

  var json: JSONValue {
    [
      "user": .string(user),
      "tokens": .array(
        tokens.map { token in
          [
            "token": .count(token.number), "label": .text(token.label), "state": .string(token.state),
            "added_at": .time(token.createdAt), "added_by": .string(token.createdBy),
            "expires_at": .time(token.expiresAt), "revoked_at": .time(token.revokedAt),
            "last_used_on": .text(token.lastUsedOn),
          ]
        }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !tokens.isEmpty else { return "No tokens.\n" }
    var table = Table([
      .init("TOKEN", alignment: .right), .init("LABEL", shrinks: true), .init("STATE"), .init("ADDED"),
      .init("EXPIRES"), .init("LAST USED"),
    ])
    for token in tokens {
      table.add([
        Cell(token.number), Cell(token.label ?? ""), Cell(token.state, token.state == "valid" ? nil : .red),
        Cell(String(Moment.short(token.createdAt).prefix(10))),
        Cell(token.expiresAt.map { Moment.short($0) } ?? "never"), Cell(token.lastUsedOn ?? "never"),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}
