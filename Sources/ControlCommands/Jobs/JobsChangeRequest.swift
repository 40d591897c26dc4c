import AnalysisCore
import CommandLineTool

/// What is to become of which jobs.
struct JobsChangeRequest: Sendable {
  enum Change: String, Sendable {
    case retry, cancel

    /// The states in which a job can be changed so.
    var states: [JobState] {
      switch self {
      case .retry: [.dead]
      case .cancel: [.waiting, .scheduled, .running]
      }
    }
  }

  /// The jobs by number, or by what they have in common.
  enum Choice: Sendable, Equatable {
    case jobs([JobID])
    case selection(JobSelection, limit: Int)
  }

  let change: Change
  let choice: Choice
  let isDryRun: Bool

  init(_ change: Change, _ choice: Choice, isDryRun: Bool = false) {
    self.change = change
    self.choice = choice
    self.isDryRun = isDryRun
  }

  init(_ change: Change, _ values: Values) throws {
    let jobs = try values[JobsChangeCommand.jobs]
    let selection = try JobSelection(values)
    if !jobs.isEmpty, !selection.isOfAll {
      throw ControlError.usage("jobs are given by number and by a filter", advice: "Give one of the two.")
    }
    if jobs.isEmpty, selection.isOfAll {
      throw ControlError.usage(
        "no job is named",
        advice: "Give the jobs' numbers, or at least one of --user, --state, --month and --type.")
    }
    if let state = selection.state, !change.states.contains(state) {
      let states = change.states.map(\.rawValue).joined(separator: ", ")
      throw ControlError.usage(
        "a job that is \(state.rawValue) cannot be changed so", advice: "Possible: \(states).")
    }
    self.change = change
    choice = jobs.isEmpty ? .selection(selection, limit: try values[JobsChangeCommand.limit]) : .jobs(jobs)
    isDryRun = try values[JobsChangeCommand.dryRun]
  }
}
