import CommandLineTool
import Support

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
      return try session.show(response)
    }
  }
}

/// The clinics, and the roles that are restricted to some of them.
struct ClinicsResponse: Sendable, Equatable, Presentable {
  let clinics: [Clinic]
  let viewers: [ClinicViewer]

  /// Of a restricted role; its clinics are empty where it sees nobody.
  private static let columns: [ListColumn<ClinicViewer>] = [
    .init("ROLE") { Cell($0.role) }.json("role") { .string($0.role) },
    .init("SEES ONLY", wraps: true) { Cell($0.seen) }
      .json("clinics") { .array($0.clinics.map(JSONValue.string)) },
  ]

  var json: JSONValue {
    ["clinics": .array(clinics.map(\.json)), "restricted": viewers.json(Self.columns)]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !clinics.isEmpty else { return "No clinics.\n" }
    let table = clinics.table([
      .init("CLINIC", wraps: true) { Cell($0.name) },
      .init("KIND") { Cell($0.kind.rawValue) },
      .init("PRODUCT") { Cell($0.product ?? "-") },
      .init("USERS", alignment: .right) { Cell($0.users) },
    ])
    guard !viewers.isEmpty else { return table.render(width: width, paint: paint) }
    let restricted = viewers.table(Self.columns)
    return table.render(width: width, paint: paint) + "\n" + restricted.render(width: width, paint: paint)
  }
}

extension ClinicViewer {
  /// The names of the clinics that the role sees, in a line.
  var seen: String { clinics.isEmpty ? "nobody" : clinics.joined(separator: ", ") }
}

enum ClinicsAddCommand {
  static let command = ControlCommand(
    "add", abstract: "Add a clinic.",
    discussion: "A clinic that is there already is left as it is, and the exit code is 5.",
    examples: [
      Example("analysisctl clinics add north", "Add a clinic."),
      Example("analysisctl clinics add south --kind pharmacy", "A pharmacy."),
    ],
    inputs: [ClinicsSetCommand.kind, ReasonOption.reason, ClinicsCommand.clinic],
    exitCodes: [.done, .nothingToDo, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (name, kind) = (try context[ClinicsCommand.clinic], try context[ClinicsSetCommand.kind])
    return try await context.withSession { session in
      let isNew = try await ClinicDirectory(session.database).add(name, kind, by: session.actor)
      return try session.show(
        ["clinic": .string(name), "created": .bool(isNew)],
        isNew ? "added clinic \(printable(name))\n" : "clinic \(printable(name)) is there already\n",
        isNew ? .done : .nothingToDo)
    }
  }
}

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
      return try session.show(
        ["user": .string(user), "clinic": .text(clinic)],
        "clinic of \(printable(user)): \(clinic.map(printable) ?? "none")\n")
    }
  }
}

enum ClinicsShowCommand {
  static let command = ControlCommand(
    "show", abstract: "Show a clinic's kind, address, product and logos.",
    examples: [Example("analysisctl clinics show north", "One clinic.")],
    inputs: [ClinicsCommand.clinic],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let name = try context[ClinicsCommand.clinic]
    return try await context.withSession { session in
      try await show(name, ClinicDirectory(session.database), session)
    }
  }

  static func show(
    _ name: String, _ directory: ClinicDirectory, _ session: ControlSession
  ) async throws -> ExitCode {
    guard let clinic = try await directory.clinic(named: name) else {
      throw CommandFailure(
        .refused, "there is no clinic \(printable(name))", advice: "Look with analysisctl clinics.")
    }
    return try session.show(clinic)
  }
}

/// Shows all that is known of a clinic.
extension Clinic: Presentable {
  var json: JSONValue {
    [
      "id": .count(id), "clinic": .string(name), "users": .count(users), "kind": .string(kind.rawValue),
      "address": .array(address.map(JSONValue.string)), "product": .text(product),
      "logo": logo?.json ?? .null, "pharmacy_logo": pharmacyLogo?.json ?? .null,
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    var facts = Facts([("clinic", name), ("kind", kind.rawValue)])
    for line in address { facts.add("address", line) }
    facts.add("product", product)
    facts.add("logo", logo?.text)
    facts.add("pharmacy logo", pharmacyLogo?.text)
    facts.add("users", String(users))
    return facts.text
  }
}

extension ClinicLogo {
  fileprivate var json: JSONValue {
    ["sha256": .string(sha256), "width": .count(width), "height": .count(height)]
  }

  /// `400 by 120 pixels, sha256 1f0c…`.
  fileprivate var text: String { "\(width) by \(height) pixels, sha256 \(sha256)" }
}
