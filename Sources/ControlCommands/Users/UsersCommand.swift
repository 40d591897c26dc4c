import CommandLineTool

/// `analysisctl users`.
enum UsersCommand {
  static let user = Argument("user", .string, help: "What you call the user.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "users", abstract: "Add users, look at them, and set their plan and zone.",
      examples: [
        Example("analysisctl users add u1 --plan premium --zone Asia/Jakarta", "Add a user."),
        Example("analysisctl users show u1", "A user's plan, limit and use."),
        Example("analysisctl users set-plan u1 premium", "Change the plan from now on."),
        Example("analysisctl users import profiles.jsonl", "Take over what the endpoint says."),
        Example("analysisctl users prefetch-photos", "Have the users' photos at hand."),
      ],
      subcommands: [
        UsersAddCommand.command(dependencies), UsersShowCommand.command(dependencies),
        UsersListCommand.command(dependencies), UsersSetCommand.plan(dependencies),
        UsersSetCommand.zone(dependencies), UsersImportCommand.command(dependencies),
        UsersExportCommand.command(dependencies),
        UsersPhotoCommand.command(dependencies), UsersPrefetchCommand.command(dependencies),
      ])
  }
}
