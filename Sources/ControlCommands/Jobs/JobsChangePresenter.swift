import AnalysisCore
import CommandLineTool
import Formatting

/// Shows what became of jobs.
enum JobsChangePresenter: Presenter {
  static func json(_ response: JobsChangeResponse) -> JSONValue {
    ["jobs": .array(response.lines.map(json(of:)))]
  }

  private static func json(of line: JobsChangeResponse.Line) -> JSONValue {
    switch line.outcome {
    case .meant(let state, _): ["job": .id(line.job), "outcome": "dry_run", "state": .string(state.rawValue)]
    case .cancelled: ["job": .id(line.job), "outcome": "cancelled"]
    case .requeued(let period): ["job": .id(line.job), "outcome": "requeued", "month": .month(period)]
    case .quota: ["job": .id(line.job), "outcome": "quota"]
    case .untouched(let why): ["job": .id(line.job), "outcome": .string(why)]
    case .busy: ["job": .id(line.job), "outcome": "busy"]
    }
  }

  static func text(_ response: JobsChangeResponse, width: Int?, paint: Paint) -> String {
    guard !response.lines.isEmpty else { return "No such jobs.\n" }
    return response.lines.map { line in
      let words =
        switch line.outcome {
        case .meant(let state, .retry): "\(state.rawValue): would be queued again"
        case .meant(let state, .cancel): "\(state.rawValue): would be cancelled"
        case .cancelled: paint.green("cancelled")
        case .requeued(let period): paint.green("queued again") + ", counts in \(period)"
        case .quota: paint.red("not queued: the user's limit of this month is reached")
        case .untouched(let why): paint.red("unchanged: \(Self.reasons[why] ?? printable(why))")
        case .busy: paint.red("unchanged: somebody else is changing it; try again")
        }
      return "\(line.job) \(words)\n"
    }.joined()
  }

  private static let reasons = [
    "finished": "it was analysed before", "dead": "it is dead", "unknown": "there is no such job",
    "not_dead": "it is not dead, or there is no such job",
    "image_gone": "its image was removed after the time for which images are kept; submit the picture anew",
    "succeeded": "it was analysed before",
    "cancelled": "it was cancelled before", "waiting": "it is waiting", "scheduled": "it is scheduled",
    "running": "it is running",
  ]
}
