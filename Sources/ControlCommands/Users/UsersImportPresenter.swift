import Administration
import CommandLineTool
import Formatting
import JobQueue

/// Shows what became of imported profiles. Names and addresses are not repeated.
enum UsersImportPresenter: Presenter {
  static func json(_ response: UsersImportResponse) -> JSONValue {
    [
      "profiles": .array(
        response.lines.map { line in
          let (outcome, reason) = words(line.outcome)
          return [
            "line": .count(line.line), "user": .text(line.user), "outcome": .string(outcome),
            "message": .text(reason),
          ]
        })
    ]
  }

  static func text(_ response: UsersImportResponse, width: Int?, paint: Paint) -> String {
    guard !response.lines.isEmpty else { return "No profiles.\n" }
    return response.lines.map { line in
      let (outcome, reason) = words(line.outcome)
      let painted = reason == nil ? paint.green(outcome) : paint.red(outcome)
      let place = line.user.map(printable) ?? "line \(line.line)"
      return "\(painted) \(place)\(reason.map { ": \(printable($0))" } ?? "")\n"
    }.joined()
  }

  private static func words(_ outcome: ImportOutcome) -> (String, String?) {
    switch outcome {
    case .created: ("created", nil)
    case .updated: ("updated", nil)
    case .refused(let reason): ("refused", reason)
    }
  }
}
