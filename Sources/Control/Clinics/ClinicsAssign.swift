import CommandLineTool
import Support

/// `analysisctl clinics assign`.
enum ClinicsAssignCommand {
  static let clinic = Argument(
    optional: "clinic", .string, help: "The clinic's name; --none for no clinic.")
  static let none = Flag("none", help: "Take the user from their clinic.")

  static let command = ControlCommand(
    "assign", abstract: "Give a user to a clinic.",
    discussion: "It holds for all months, those that are closed included: what the clinic's reports show.",
    examples: [
      Example("analysisctl clinics assign u1 north", "The user is of this clinic from now on."),
      Example("analysisctl clinics assign u1 --none", "The user is of no clinic."),
    ],
    inputs: [none, ReasonOption.reason, UsersCommand.user, clinic],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (user, clinic) = (try context[UsersCommand.user], try context[clinic])
    guard (clinic == nil) == (try context[none]) else {
      throw CommandFailure.usage("give either a clinic or --none")
    }
    return try await context.withSession { session in
      try await ClinicDirectory(session.database).assign(user, to: clinic, by: session.actor)
      try session.view.show(ClinicsAssignResponse(user: user, clinic: clinic))
      return .done
    }
  }
}

/// Whose a user is now.
struct ClinicsAssignResponse: Sendable, Equatable, Presentable {
  let user: String
  /// Nil for no clinic.
  let clinic: String?

  var json: JSONValue {
    ["user": .string(user), "clinic": .text(clinic)]
  }

  func text(width: Int?, paint: Paint) -> String {
    "clinic of \(printable(user)): \(clinic.map(printable) ?? "none")\n"
  }
}
