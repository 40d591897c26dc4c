import CommandLineTool
import Support

/// `analysisctl clinics revoke`.
enum ClinicsRevokeCommand {
  static let clinics = Argument(repeating: "clinic", .string, minimum: 1, help: "The clinics' names.")

  static let command = ControlCommand(
    "revoke", abstract: "Have a database role see the users of clinics no more.",
    discussion:
      "A role from which the last clinic is taken sees nobody; grant --all lifts the restriction.",
    examples: [Example("analysisctl clinics revoke region east", "One clinic less.")],
    inputs: [ReasonOption.reason, ClinicsGrantCommand.role, clinics],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (role, clinics) = (try context[ClinicsGrantCommand.role], try context[clinics])
    return try await context.withSession { session in
      guard
        try await ClinicDirectory(session.database).revoke(clinics, from: role, by: session.actor)
      else {
        throw CommandFailure(
          .refused, "role \(printable(role)) is not restricted to clinics",
          advice: "Look with analysisctl clinics.")
      }
      return try await ClinicsGrantCommand.show(role, session)
    }
  }
}
