import CommandLineTool
import Support

/// `analysisctl clinics`.
enum ClinicsCommand {
  static let clinic = Argument("clinic", .string, help: "The clinic's name.")

  static let command = ControlCommand(
    "clinics", abstract: "Add clinics, give users to them, and say which database role sees which.",
    discussion: """
      A database role to which clinics are granted sees only their users, in the reports and in users list; so \
      does whoever is a member of it. A role that was never granted any sees all. It cannot close a month, which \
      would state it for all clinics: a role that is not restricted has to report the month first.
      """,
    examples: [
      Example("analysisctl clinics", "The clinics, and the roles that are restricted to some."),
      Example("analysisctl clinics add north", "Add a clinic."),
      Example("analysisctl clinics set north --logo north.png", "Give it a logo."),
      Example("analysisctl clinics assign u1 north", "Give a user to it."),
      Example("analysisctl clinics grant north_office north", "Have a role see its users only."),
    ],
    subcommands: [
      list, ClinicsShowCommand.command, ClinicsAddCommand.command, ClinicsSetCommand.command,
      ClinicsAssignCommand.command, ClinicsGrantCommand.command, ClinicsRevokeCommand.command,
    ],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    try await show(context)
  }

  private static let list = ControlCommand(
    "list", abstract: "Show the clinics and who sees them, as clinics alone does.",
    examples: [Example("analysisctl clinics list --json", "For a program.")],
    exitCodes: [.done, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    try await show(context)
  }

  private static func show(_ context: ControlContext) async throws -> ExitCode {
    try await context.withSession { session in
      let directory = ClinicDirectory(session.database)
      let response = ClinicsResponse(
        clinics: try await directory.list(), viewers: try await directory.viewers())
      try session.view.show(response)
      return .done
    }
  }
}

/// The clinics, and the roles that are restricted to some of them.
struct ClinicsResponse: Sendable, Equatable, Presentable {
  let clinics: [Clinic]
  let viewers: [ClinicViewer]

  var json: JSONValue {
    [
      "clinics": .array(clinics.map(\.json)),
      "restricted": .array(viewers.map(Self.json(of:))),
    ]
  }

  /// A restricted role; the clinics are empty for one that sees nobody.
  private static func json(of viewer: ClinicViewer) -> JSONValue {
    ["role": .string(viewer.role), "clinics": .array(viewer.clinics.map(JSONValue.string))]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !clinics.isEmpty else { return "No clinics.\n" }
    var table = Table([
      .init("CLINIC", wraps: true), .init("KIND"), .init("PRODUCT"), .init("USERS", alignment: .right),
    ])
    for clinic in clinics {
      table.add([
        Cell(clinic.name), Cell(clinic.kind.rawValue), Cell(clinic.product ?? "-"), Cell(clinic.users),
      ])
    }
    guard !viewers.isEmpty else { return table.render(width: width, paint: paint) }
    var restricted = Table([.init("ROLE"), .init("SEES ONLY", wraps: true)])
    for viewer in viewers { restricted.add([Cell(viewer.role), Cell(viewer.seen)]) }
    return table.render(width: width, paint: paint) + "\n" + restricted.render(width: width, paint: paint)
  }
}

extension ClinicViewer {
  /// The names of the clinics that the role sees, in a line.
  var seen: String { clinics.isEmpty ? "nobody" : clinics.joined(separator: ", ") }
}
