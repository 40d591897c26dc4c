import CommandLineTool
import Support

/// `analysisctl users`.
enum UsersCommand {
  static let user = Argument("user", .string, help: "What you call the user.")

  static let command = ControlCommand(
    "users", abstract: "Add users, look at them, set plan, zone, months and name, and make their tokens.",
    examples: [
      Example("analysisctl users add u1 --plan premium --zone Asia/Jakarta", "Add a user."),
      Example("analysisctl users show u1", "A user's plan, limit and use."),
      Example("analysisctl users set-plan u1 premium", "Change the plan from now on."),
      Example("analysisctl users set-period u1 --anchor 15", "Months that end on the 15th."),
      Example("analysisctl users import users.csv --dry-run", "See what a table of users would change."),
      Example("analysisctl users import profiles.jsonl", "Take over what the endpoint says."),
      Example("analysisctl users token add u1 --expires 90d", "Make a token for the user's app."),
      Example("analysisctl users prefetch-photos", "Have the users' photos at hand."),
    ],
    subcommands: [
      UsersAddCommand.command, UsersShowCommand.command, UsersListCommand.command,
      UsersSetPlanCommand.command, UsersSetZoneCommand.command,
      UsersSetPeriodCommand.command, UsersRenameCommand.command,
      UsersImportCommand.command,
      UsersExportCommand.command, UsersSetPhotoCommand.command, UsersPrefetchPhotosCommand.command,
      UsersTokenCommand.command,
    ])
}

/// A user's plan, zone or photo that was set.
struct UsersSetResponse: Sendable, Equatable, Presentable {
  let user: String
  let name: String
  let value: String
  /// Seconds since 1970; nil for now.
  let from: Double?

  var json: JSONValue {
    .object([
      .init(name: "user", value: .string(user)),
      .init(name: name, value: .string(value)),
      .init(name: "from", value: .time(from)),
    ])
  }

  func text(width: Int?, paint: Paint) -> String {
    let from = self.from.map { " from \(Moment.short($0))" } ?? ""
    return "\(name) of \(printable(user)): \(printable(value))\(from)\n"
  }
}
