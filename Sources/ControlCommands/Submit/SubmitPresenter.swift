import AnalysisCore
import CommandLineTool
import Formatting
import Images

/// Puts results of a submit into words.
enum SubmitPresenter: Presenter {
  static func json(_ result: SubmitResult) -> JSONValue {
    var (outcome, period, refusal): (String, Period?, ItemRefusal?)
    switch result.outcome {
    case .created(_, let month): (outcome, period, refusal) = ("created", month, nil)
    case .duplicate: (outcome, period, refusal) = ("duplicate", nil, nil)
    case .refused(let reason): (outcome, period, refusal) = ("refused", nil, reason)
    case .notReached: (outcome, period, refusal) = ("not_submitted", nil, nil)
    }
    return [
      "file": .string(result.name), "user": .text(result.user), "type": .text(result.kind?.rawValue),
      "priority": .string(result.priority.rawValue), "outcome": .string(outcome), "job": .id(result.job),
      "month": .month(period), "key": .string(result.key), "reason": .text(refusal?.code),
      "message": .text(refusal?.sentence), "advice": .text(refusal?.advice), "limit": .count(refusal?.limit),
      "used": .count(refusal?.used), "state": .text(result.state?.rawValue),
    ]
  }

  /// One line: the outcome, the job where there is one, the file, the reason where there is one.
  static func text(_ result: SubmitResult, width: Int?, paint: Paint) -> String {
    let name = printable(result.name)
    return switch (result.outcome, result.state) {
    case (.refused(let refusal), _): "\(paint.red("refused")) \(name): \(printable(refusal.sentence))\n"
    case (.notReached, _): "\(paint.yellow("not submitted")) \(name)\n"
    case (.created(let job, _), nil): "\(paint.green("submitted")) \(job) \(name)\n"
    case (.duplicate(let job), nil): "\(paint.green("submitted before")) \(job) \(name)\n"
    case (.created(let job, _), let state?), (.duplicate(let job), let state?):
      "\(paint(state.rawValue, state.colour)) \(job) \(name)\n"
    }
  }

  /// What to know of images that were scaled too far.
  static func warning(_ tally: SubmitTally) -> String? {
    guard tally.belowModelSide > 0 else { return nil }
    let side = ImageLimits.modelSide
    return
      "\(tally.belowModelSide) scaled to less than \(side) pixels on the shorter side. The endpoint's models "
      + "enlarge such images again, which can change a diagnosis: give --min-side \(side) instead."
  }

  /// What it came to, for standard error.
  static func summary(_ tally: SubmitTally) -> String {
    var parts: [String] = ["\(tally.created) submitted"]
    if tally.duplicates > 0 { parts.append("\(tally.duplicates) submitted before") }
    if tally.refusedByQuota > 0 { parts.append("\(tally.refusedByQuota) refused by the monthly limit") }
    if tally.refusedOtherwise > 0 { parts.append("\(tally.refusedOtherwise) refused") }
    if tally.notReached > 0 { parts.append("\(tally.notReached) not submitted") }
    if tally.failed > 0 { parts.append("\(tally.failed) failed") }
    if tally.unfinished > 0 { parts.append("\(tally.unfinished) not finished") }
    return parts.joined(separator: ", ") + "."
  }
}

extension JobState {
  /// The colour under which a state is shown.
  var colour: Paint.Colour {
    switch self {
    case .waiting, .scheduled: .dim
    case .running: .yellow
    case .succeeded: .green
    case .dead, .cancelled: .red
    }
  }
}
