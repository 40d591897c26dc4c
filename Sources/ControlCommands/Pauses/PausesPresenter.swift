import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue

/// Says what was paused or resumed, and what is paused beside it.
enum PausesPresenter: Presenter {
  static func json(_ response: PausesResponse) -> JSONValue {
    [
      "target": .string(response.scope.description), "outcome": .string(response.outcome),
      "pauses": .array(response.inForce.map(json)),
    ]
  }

  static func json(_ pause: OperatorPause) -> JSONValue {
    var (endpoint, type): (String?, String?) = (nil, nil)
    switch pause.scope {
    case .everything: break
    case .endpoint(let name): endpoint = name
    case .kind(let kind): type = kind.rawValue
    }
    return [
      "endpoint": .text(endpoint), "type": .text(type), "reason": .text(pause.reason),
      "by": .string(pause.by), "since": .time(pause.since), "until": .time(pause.until),
    ]
  }

  static func text(_ response: PausesResponse, width: Int?, paint: Paint) -> String {
    let others = response.inForce.filter { $0.scope != response.scope }
    let own = response.inForce.first { $0.scope == response.scope }
    let name = printable(response.scope.description)
    let first =
      switch (response.outcome, own) {
      case ("resumed", _): "\(name): not paused any more"
      case ("unchanged", nil): "\(name): was not paused"
      case ("unchanged", .some(let pause)): line(pause) + " (unchanged)"
      case (_, .some(let pause)): line(pause)
      case (_, nil): "\(name): the pause is over already"
      }
    return first + "\n" + others.map { line($0) + "\n" }.joined()
  }

  /// `ear: paused by postgres since 2026-11-21 10:00:00Z until …: model upgrade`.
  static func line(_ pause: OperatorPause) -> String {
    var words = "\(pause.scope): paused by \(pause.by) since \(Moment.short(pause.since))"
    if let until = pause.until { words += " until \(Moment.short(until))" }
    if let reason = pause.reason { words += ": \(reason)" }
    return printable(words)
  }
}
