import CommandLineTool

/// `analysisctl account`.
enum AccountCommand {
  static let user = Option<String?>(
    "user", .string,
    help:
      "The user here whose account it is: name, e-mail address, plan and the endpoint's count are taken over."
  )

  /// Who a person is at the endpoint; the same words for every command that sets it.
  static let name = Option<String?>("name", .string, help: "The account holder's name.")

  static let credentials = """
    The account is that of --credentials, a file of mode 0600 with email and password; neither stands on the command \
    line or in a message.
    """

  static let command = ControlCommand(
    "account", abstract: "Look after an account at the endpoint, and keep a user in step with it.",
    discussion: """
      \(credentials)

      A command that names no --user asks the endpoint alone, and needs no database.
      """,
    examples: [
      Example(
        "analysisctl account login --endpoint https://m.org --credentials account",
        "See whose account it is."),
      Example(
        "analysisctl account sync --user u1 --worker-config worker.conf --dry-run",
        "See what differs between a user here and the account there."),
    ],
    subcommands: [
      AccountLoginCommand.command, AccountRegisterCommand.command, AccountProfileCommand.command,
      AccountSubscribeCommand.command, AccountSyncCommand.command, AccountHistoryCommand.command,
      AccountSaveCommand.command, AccountDeleteCommand.command,
    ])
}
