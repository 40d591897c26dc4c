import Administration
import CommandLineTool
import Formatting
import JobQueue

/// `analysisctl clinics add`.
enum ClinicsAddCommand {
  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "add", abstract: "Add a clinic.",
      discussion: "A clinic that is there already is left as it is, and the exit code is 5.",
      examples: [Example("analysisctl clinics add north", "Add a clinic.")],
      inputs: [ClinicsCommand.clinic],
      exitCodes: [.done, .nothingToDo, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      let name = try context.values[ClinicsCommand.clinic]
      return try await context.withSession(dependencies) { session in
        let isNew = try await ClinicDirectory(session.database).add(name)
        try session.view.show(ClinicsAddResponse(clinic: name, isNew: isNew), by: ClinicsAddPresenter.self)
        return isNew ? .done : .nothingToDo
      }
    }
  }
}

/// A clinic that was asked to be added.
struct ClinicsAddResponse: Sendable, Equatable {
  let clinic: String
  let isNew: Bool
}

/// Says whether a clinic is new.
enum ClinicsAddPresenter: Presenter {
  static func json(_ response: ClinicsAddResponse) -> JSONValue {
    ["clinic": .string(response.clinic), "created": .bool(response.isNew)]
  }

  static func text(_ response: ClinicsAddResponse, width: Int?, paint: Paint) -> String {
    let clinic = printable(response.clinic)
    return response.isNew ? "added clinic \(clinic)\n" : "clinic \(clinic) is there already\n"
  }
}
