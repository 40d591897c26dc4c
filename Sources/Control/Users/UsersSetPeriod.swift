import CommandLineTool
import Support

/// `analysisctl users set-period`.
enum UsersSetPeriodCommand {
  static let anchor = Option<Int?>(
    "anchor", .int(in: UserDirectory.anchors),
    help: "The day of the month on which the user's periods end; 1 for calendar months.")
  static let from = Option<String?>(
    "from", .month,
    help: "The first month that ends on it; the first that has not begun and has no jobs unless given.")

  static let command = ControlCommand(
    "set-period", abstract: "Set the day of the month on which a user's months end.",
    discussion: """
      A month ends at midnight of that day by the clocks of the user's zone, or of the month's last day where it is \
      shorter, and has the name of the month in which it ends: with anchor 15, 2026-12 is from 15 November until 15 \
      December. The limit is free again then.

      A month that has begun, or in which jobs are counted (also those submitted with --at), keeps its days: a --from of \
      such a month is refused. The first month with a new anchor may be shorter or longer than a month, and the command \
      says so. Who has used nothing yet has the anchor from the beginning. Where nothing changes, the exit code is 5.
      """,
    examples: [
      Example("analysisctl users set-period u1 --anchor 15", "As early as may be."),
      Example("analysisctl users set-period u1 --anchor 15 --from 2027-01", "From a month on."),
      Example("analysisctl users set-period u1 --anchor 1", "Calendar months again."),
    ],
    inputs: [anchor, from, ReasonOption.reason, UsersCommand.user],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in
    let user = try context[UsersCommand.user]
    guard let anchor = try context[anchor] else {
      throw CommandFailure.usage("--anchor is missing", advice: "Give a day from 1 to 31.")
    }
    let from = try context[from].map { text throws(CommandFailure) in
      guard let month = Period(text) else {
        throw CommandFailure.usage("--from \(text) is not of the years 2000 to 2699")
      }
      return month
    }
    return try await context.withSession { session in
      let change = try await UserDirectory(session.database).setPeriod(
        user, anchor: anchor, from: from, by: session.actor)
      try session.view.show(UsersSetPeriodResponse(user: user, anchor: anchor, change: change))
      return change.isChanged ? .done : .nothingToDo
    }
  }
}

/// An anchor that was set.
struct UsersSetPeriodResponse: Sendable, Equatable, Presentable {
  let user: String
  let anchor: Int
  let change: AnchorChange

  var json: JSONValue {
    [
      "user": .string(user), "anchor": .count(anchor), "from": .month(change.from),
      "changed": .bool(change.isChanged), "month": .month(change.month),
      "starts": .string(change.start.text), "ends": .string(change.end.text), "days": .count(change.days),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let holds = change.from.map { " from \($0)" } ?? " from the beginning"
    guard change.isChanged else { return "anchor of \(printable(user)) is \(anchor) already\n" }
    return """
      anchor of \(printable(user)): \(anchor)\(holds)
      \(change.month) is \(change.start.short) to \(change.end.short): \(length)

      """
  }

  /// `30 days`, `14 days, which is shorter than a month`.
  private var length: String {
    let days = change.days == 1 ? "1 day" : "\(change.days) days"
    return switch change.days {
    case ..<28: "\(days), which is shorter than a month"
    case 32...: "\(days), which is longer than a month"
    default: days
    }
  }
}
