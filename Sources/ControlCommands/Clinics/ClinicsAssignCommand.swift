import Administration
import CommandLineTool
import Formatting
import JobQueue

/// `analysisctl clinics assign`.
enum ClinicsAssignCommand {
  static let clinic = Argument(
    optional: "clinic", .string, help: "The clinic's name; --none for no clinic.")
  static let none = Flag("none", help: "Take the user from their clinic.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "assign", abstract: "Give a user to a clinic.",
      discussion: "It holds for all months, those that are closed included: what the clinic's reports show.",
      examples: [
        Example("analysisctl clinics assign u1 north", "The user is of this clinic from now on."),
        Example("analysisctl clinics assign u1 --none", "The user is of no clinic."),
      ],
      inputs: [none, ReasonOption.reason, UsersCommand.user, clinic],
      exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      let (user, clinic) = (try context.values[UsersCommand.user], try context.values[clinic])
      guard (clinic == nil) == (try context.values[none]) else {
        throw ControlError.usage("give either a clinic or --none")
      }
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        try await ClinicDirectory(session.database).assign(user, to: clinic, by: session.actor(reason))
        let response = ClinicsAssignResponse(user: user, clinic: clinic)
        try session.view.show(response, by: ClinicsAssignPresenter.self)
        return .done
      }
    }
  }
}

/// Whose a user is now.
struct ClinicsAssignResponse: Sendable, Equatable {
  let user: String
  /// Nil for no clinic.
  let clinic: String?
}

/// Says whose a user is now.
enum ClinicsAssignPresenter: Presenter {
  static func json(_ response: ClinicsAssignResponse) -> JSONValue {
    ["user": .string(response.user), "clinic": .text(response.clinic)]
  }

  static func text(_ response: ClinicsAssignResponse, width: Int?, paint: Paint) -> String {
    "clinic of \(printable(response.user)): \(response.clinic.map(printable) ?? "none")\n"
  }
}
