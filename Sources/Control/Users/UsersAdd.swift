import CommandLineTool
import Support

/// `analysisctl users add`.
enum UsersAddCommand {
  static let plan = Option("plan", .string, default: "free", help: "The plan's name; see analysisctl plans.")
  static let zone = Option<String?>(
    "zone", .string,
    help: "The IANA time zone in which the user's months are counted; the installation's unless given.")
  static let anchor = Option<Int?>(
    "anchor", .int(in: UserDirectory.anchors),
    help: "The day of the month on which the user's periods end; calendar months unless given.")
  static let name = Option<String?>("name", .string, help: "The user's name; kept apart from the reference.")
  static let email = Option<String?>("email", .string, help: "The user's e-mail address; kept likewise.")

  static let command = ControlCommand(
    "add", abstract: "Add a user.",
    discussion: "A user who is there already is left as they are, and the exit code is 5.",
    examples: [
      Example("analysisctl users add u1 --plan free --zone Asia/Jakarta", "Add a user."),
      Example("analysisctl users add u2 --anchor 15", "One whose months end on the 15th."),
    ],
    inputs: [plan, zone, anchor, name, email, ReasonOption.reason, UsersCommand.user],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in
    let user = NewUser(
      reference: try context[UsersCommand.user], plan: try context[plan],
      zone: try context[zone], anchor: try context[anchor], name: try context[name], email: try context[email]
    )
    return try await context.withSession { session in
      let added = try await UserDirectory(session.database).add(user, by: session.actor)
      try session.view.show(UsersAddResponse(reference: user.reference, added: added))
      return added.isNew ? .done : .nothingToDo
    }
  }
}

/// A user who was asked to be added.
struct UsersAddResponse: Sendable, Equatable, Presentable {
  let reference: String
  let added: AddedUser

  var json: JSONValue {
    [
      "user": .string(reference), "id": .string(String(added.userID)),
      "shard": .count(added.shard), "created": .bool(added.isNew),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let user = printable(reference)
    return added.isNew
      ? "added user \(user)\n"
      : "user \(user) is there already and was left unchanged; see analysisctl users set-plan, set-zone and set-period\n"
  }
}
