import CommandLineTool
import Support

/// `analysisctl users rename`.
enum UsersRenameCommand {
  static let name = Argument("new-name", .string, help: "What you call the user from now on.")

  static let command = ControlCommand(
    "rename", abstract: "Call a user by another name; all that is theirs stays.",
    discussion: """
      The user keeps the number, jobs, results, images, use and plan. Statements of closed months keep the name with \
      which they were closed, byte for byte. The audit knows users by their numbers, and so finds what was done \
      before under the new name too.

      The old name is refused from then on wherever a user is named, and no other user gets it until the person is \
      erased: a back-end that still submits under it is told that there is no such user. The same user may be given \
      it again. Only a hash of it is kept.
      """,
    examples: [
      Example("analysisctl users rename u1 patient-1", "Ask, and rename."),
      Example("analysisctl users rename u1 patient-1 --yes --reason request-114", "From a script."),
    ],
    inputs: [Confirmation.yes, ReasonOption.reason, UsersCommand.user, name],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater]
  ) { context in
    let (user, name) = (try context[UsersCommand.user], try context[name])
    guard user != name else { throw CommandFailure.usage("the new name is the old one") }
    if try !context[Confirmation.yes] { try Confirmation.requireTerminal(context) }
    return try await context.withSession { session in
      try await Confirmation.require(
        "Back-ends that submit for \(printable(user)) have to name \(printable(name)) from now on. Rename?",
        session)
      let number = try await UserDirectory(session.database).rename(user, to: name, by: session.actor)
      try session.view.show(UsersRenameResponse(was: user, name: name, number: number))
      return .done
    }
  }
}

/// A user who was renamed.
struct UsersRenameResponse: Sendable, Equatable, Presentable {
  let was: String
  let name: String
  let number: Int64

  var json: JSONValue {
    ["user": .string(name), "was": .string(was), "number": .string(String(number))]
  }

  func text(width: Int?, paint: Paint) -> String {
    "user \(printable(was)) is called \(printable(name)) now\n"
  }
}
