import CommandLineTool
import Support

/// `analysisctl clinics add`.
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
      try session.view.show(ClinicsAddResponse(clinic: name, isNew: isNew))
      return isNew ? .done : .nothingToDo
    }
  }
}

/// A clinic that was asked to be added.
struct ClinicsAddResponse: Sendable, Equatable, Presentable {
  let clinic: String
  let isNew: Bool

  var json: JSONValue {
    ["clinic": .string(clinic), "created": .bool(isNew)]
  }

  func text(width: Int?, paint: Paint) -> String {
    let clinic = printable(self.clinic)
    return isNew ? "added clinic \(clinic)\n" : "clinic \(clinic) is there already\n"
  }
}
