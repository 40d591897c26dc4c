import Administration
import CommandLineTool
import Formatting
import JobQueue

/// `analysisctl clinics`.
enum ClinicsCommand {
  static let clinic = Argument("clinic", .string, help: "The clinic's name.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "clinics", abstract: "Add clinics, give users to them, and say which database role sees which.",
      discussion: """
        A database role to which clinics are granted sees only their users, in the reports and in users list; so \
        does whoever is a member of it. A role that was never granted any sees all. It cannot close a month, which \
        would state it for all clinics: a role that is not restricted has to report the month first.
        """,
      examples: [
        Example("analysisctl clinics", "The clinics, and the roles that are restricted to some."),
        Example("analysisctl clinics add north", "Add a clinic."),
        Example("analysisctl clinics assign u1 north", "Give a user to it."),
        Example("analysisctl clinics grant north_office north", "Have a role see its users only."),
      ],
      subcommands: [
        list(dependencies), ClinicsAddCommand.command(dependencies),
        ClinicsAssignCommand.command(dependencies), ClinicsGrantCommand.grant(dependencies),
        ClinicsGrantCommand.revoke(dependencies),
      ],
      exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      try await show(context, dependencies)
    }
  }

  private static func list(_ dependencies: Dependencies) -> Command {
    Command(
      "list", abstract: "Show the clinics and who sees them, as clinics alone does.",
      examples: [Example("analysisctl clinics list --json", "For a program.")],
      exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      try await show(context, dependencies)
    }
  }

  private static func show(_ context: Context, _ dependencies: Dependencies) async throws -> ExitCode {
    try await context.withSession(dependencies) { session in
      let directory = ClinicDirectory(session.database)
      let response = ClinicsResponse(
        clinics: try await directory.list(), viewers: try await directory.viewers())
      try session.view.show(response, by: ClinicsPresenter.self)
      return .done
    }
  }
}

/// The clinics, and the roles that are restricted to some of them.
struct ClinicsResponse: Sendable, Equatable {
  let clinics: [Clinic]
  let viewers: [ClinicViewer]
}

/// Shows clinics and who sees them.
enum ClinicsPresenter: Presenter {
  static func json(_ response: ClinicsResponse) -> JSONValue {
    [
      "clinics": .array(
        response.clinics.map { clinic in
          ["id": .count(clinic.id), "clinic": .string(clinic.name), "users": .count(clinic.users)]
        }),
      "restricted": .array(response.viewers.map(json(of:))),
    ]
  }

  /// A restricted role; the clinics are empty for one that sees nobody.
  static func json(of viewer: ClinicViewer) -> JSONValue {
    ["role": .string(viewer.role), "clinics": .array(viewer.clinics.map(JSONValue.string))]
  }

  static func text(_ response: ClinicsResponse, width: Int?, paint: Paint) -> String {
    guard !response.clinics.isEmpty else { return "No clinics.\n" }
    var clinics = Table([.init("CLINIC", shrinks: true), .init("USERS", alignment: .right)])
    for clinic in response.clinics { clinics.add([Cell(clinic.name), Cell(clinic.users)]) }
    guard !response.viewers.isEmpty else { return clinics.render(width: width, paint: paint) }
    var viewers = Table([.init("ROLE"), .init("SEES ONLY", shrinks: true)])
    for viewer in response.viewers { viewers.add([Cell(viewer.role), Cell(seen(viewer))]) }
    return clinics.render(width: width, paint: paint) + "\n" + viewers.render(width: width, paint: paint)
  }

  /// The clinics' names in a line.
  static func seen(_ viewer: ClinicViewer) -> String {
    viewer.clinics.isEmpty ? "nobody" : viewer.clinics.joined(separator: ", ")
  }
}
