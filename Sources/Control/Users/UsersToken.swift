import CommandLineTool

/// `analysisctl users token`.
enum UsersTokenCommand {
  static let command = ControlCommand(
    "token", abstract: "Make, list and revoke the tokens by which a user's app reaches the gateway.",
    discussion: """
      With a token an app submits images of its user and reads their analyses, through analysis-gateway, and nothing \
      of anybody else. The database keeps only a hash of it.
      """,
    examples: [
      Example("analysisctl users token add u1 --label phone --expires 90d", "Make one, and print it."),
      Example("analysisctl users token list u1", "Which there are, and when they were used."),
      Example("analysisctl users token revoke u1 2", "It opens nothing any more."),
    ],
    subcommands: [
      UsersTokenAddCommand.command, UsersTokenListCommand.command, UsersTokenRevokeCommand.command,
    ])
}
