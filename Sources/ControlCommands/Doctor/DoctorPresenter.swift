import CommandLineTool
import Formatting

/// Shows what was found.
enum DoctorPresenter: Presenter {
  static func json(_ response: DoctorResponse) -> JSONValue {
    [
      "database_reached": .bool(response.isDatabaseReached),
      "counts": .object(
        Finding.State.allCases.map { .init(name: $0.rawValue, value: .count(response.count($0))) }),
      "findings": .array(
        response.findings.map { finding in
          [
            "check": .string(finding.check), "state": .string(finding.state.rawValue),
            "seen": .string(finding.seen), "advice": .text(finding.advice),
          ]
        }),
    ]
  }

  static func text(_ response: DoctorResponse, width: Int?, paint: Paint) -> String {
    let states = response.findings.map(\.state.rawValue.count).max() ?? 0
    let checks = response.findings.map(\.check.count).max() ?? 0
    let lines = response.findings.map { finding in
      let state =
        finding.state.rawValue + String(repeating: " ", count: states - finding.state.rawValue.count)
      let check = finding.check + String(repeating: " ", count: checks - finding.check.count)
      let shown = colour(finding.state).map { paint(state, $0) } ?? state
      let advice =
        finding.advice.map { String(repeating: " ", count: states + 2) + "-> \(printable($0))\n" } ?? ""
      return "\(shown)  \(check)  \(printable(finding.seen))\n\(advice)"
    }
    return lines.joined() + "\n" + summary(response)
  }

  private static func summary(_ response: DoctorResponse) -> String {
    let states: [Finding.State] = [.wrong, .warning, .ok, .skipped]
    return states.map { "\(response.count($0)) \($0.rawValue)" }.joined(separator: ", ") + "\n"
  }

  private static func colour(_ state: Finding.State) -> Paint.Colour? {
    switch state {
    case .ok: .green
    case .warning: .yellow
    case .wrong: .red
    case .skipped: nil
    }
  }
}
