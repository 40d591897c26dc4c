import Administration
import CommandLineTool
import Formatting
import JobQueue

/// `analysisctl clinics grant` and `analysisctl clinics revoke`.
enum ClinicsGrantCommand {
  static let role = Argument("role", .string, help: "The database role.")
  static let clinics = Argument(repeating: "clinic", .string, help: "The clinics' names.")
  static let fewer = Argument(repeating: "clinic", .string, minimum: 1, help: "The clinics' names.")
  static let all = Flag("all", help: "Lift the restriction: the role sees everybody again.")

  static func grant(_ dependencies: Dependencies) -> Command {
    Command(
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
      let (role, clinics) = (try context.values[role], try context.values[clinics])
      let isLifted = try context.values[all]
      guard clinics.isEmpty == isLifted else { throw ControlError.usage("give either clinics or --all") }
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        let directory = ClinicDirectory(session.database)
        if isLifted {
          _ = try await directory.lift(role, by: session.actor(reason))
        } else {
          try await directory.grant(clinics, to: role, by: session.actor(reason))
        }
        return try await show(role, session)
      }
    }
  }

  static func revoke(_ dependencies: Dependencies) -> Command {
    Command(
      "revoke", abstract: "Have a database role see the users of clinics no more.",
      discussion:
        "A role from which the last clinic is taken sees nobody; grant --all lifts the restriction.",
      examples: [Example("analysisctl clinics revoke region east", "One clinic less.")],
      inputs: [ReasonOption.reason, role, fewer],
      exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      let (role, clinics) = (try context.values[role], try context.values[fewer])
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        guard
          try await ClinicDirectory(session.database).revoke(clinics, from: role, by: session.actor(reason))
        else {
          throw ControlError(
            .refused, "role \(printable(role)) is not restricted to clinics",
            advice: "Look with analysisctl clinics.")
        }
        return try await show(role, session)
      }
    }
  }

  /// Shows what the role sees now.
  private static func show(_ role: String, _ session: ControlSession) async throws -> ExitCode {
    let viewer = try await ClinicDirectory(session.database).viewers().first { $0.role == role }
    try session.view.show(ClinicsGrantResponse(role: role, viewer: viewer), by: ClinicsGrantPresenter.self)
    return .done
  }
}

/// What a role sees.
struct ClinicsGrantResponse: Sendable, Equatable {
  let role: String
  /// Nil when it is not restricted.
  let viewer: ClinicViewer?
}

/// Says what a role sees.
enum ClinicsGrantPresenter: Presenter {
  static func json(_ response: ClinicsGrantResponse) -> JSONValue {
    [
      "role": .string(response.role), "restricted": .bool(response.viewer != nil),
      "clinics": response.viewer.map { .array($0.clinics.map(JSONValue.string)) } ?? .null,
    ]
  }

  static func text(_ response: ClinicsGrantResponse, width: Int?, paint: Paint) -> String {
    let seen = response.viewer.map { "sees only \(printable(ClinicsPresenter.seen($0)))" } ?? "sees everybody"
    return "role \(printable(response.role)) \(seen)\n"
  }
}
