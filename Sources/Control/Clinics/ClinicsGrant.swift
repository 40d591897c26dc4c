import CommandLineTool
import Support

enum ClinicsGrantCommand {
  static let role = Argument("role", .string, help: "The database role.")
  static let clinics = Argument(repeating: "clinic", .string, help: "The clinics' names.")
  static let all = Flag("all", help: "Lift the restriction: the role sees everybody again.")

  static let command = ControlCommand(
    "grant", abstract: "Have a database role see the users of clinics, and no others.",
    discussion: """
      They are added to those that were granted before. The role is restricted from the first grant on, whatever \
      else it may do, and so is every member of it. What it may do at all is another matter: \
      GRANT analysis_clinician TO it, or analysis_reporter.
      """,
    examples: [
      Example("analysisctl clinics grant north_office north", "The role sees the users of one clinic."),
      Example("analysisctl clinics grant region north east", "Of two."),
      Example("analysisctl clinics grant north_office --all", "The role sees everybody again."),
    ],
    inputs: [all, ReasonOption.reason, role, clinics],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (role, clinics) = (try context[role], try context[clinics])
    let isLifted = try context[all]
    guard clinics.isEmpty == isLifted else { throw CommandFailure.usage("give either clinics or --all") }
    return try await context.withSession { session in
      let directory = ClinicDirectory(session.database)
      if isLifted {
        _ = try await directory.lift(role, by: session.actor)
      } else {
        try await directory.grant(clinics, to: role, by: session.actor)
      }
      return try await show(role, session)
    }
  }

  /// Shows what a role sees now.
  static func show(_ role: String, _ session: ControlSession) async throws -> ExitCode {
    let viewer = try await ClinicDirectory(session.database).viewers().first { $0.role == role }
    return try session.show(
      [
        "role": .string(role), "restricted": .bool(viewer != nil),
        "clinics": viewer.map { .array($0.clinics.map(JSONValue.string)) } ?? .null,
      ],
      "role \(printable(role)) \(viewer.map { "sees only \(printable($0.seen))" } ?? "sees everybody")\n")
  }
}

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
