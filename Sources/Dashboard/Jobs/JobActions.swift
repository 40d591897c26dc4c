import Administration
import AnalysisCore
import HTTPServing
import JobQueue
import Markup

extension JobChange {
  /// The roles of which any may change jobs on the dashboard.
  static let roles: [DatabaseRole] = [.operator]

  /// Changes jobs that this login sees. Those that somebody else has changed since the question was asked, so that they
  /// cannot be changed so any more, are left alone.
  func apply(
    to jobs: [JobID], _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> [JobChangeOutcome] {
    let directory = JobDirectory(context.database)
    let found = try await directory.states(jobs)
    let open = jobs.filter { found[$0].map(states.contains) ?? false }
    let changed = try await directory.change(
      open, self, by: context.actor(reason: try Confirmation.reason(request)))
    let left = Set(jobs).subtracting(open).map {
      JobChangeOutcome.untouched(found[$0]?.rawValue ?? "unknown")
    }
    return changed.map(\.outcome) + left
  }
}

/// Changes of one job.
enum JobActions {
  static let all = JobChange.allCases.map { change in
    DashboardAction(
      path: "/jobs/*/\(change.rawValue)", section: .jobs, roles: JobChange.roles,
      confirm: { request, context in try await confirm(change, request, context) },
      perform: { request, context in try await perform(change, request, context) })
  }

  private static func confirm(
    _ change: JobChange, _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> Confirmation {
    let job = try JobPage.job(request)
    guard let state = try await JobDirectory(context.database).states([job])[job] else {
      throw PageFailure.missing("There is no job \(job), or none that login \(context.login) may see.")
    }
    guard change.states.contains(state) else {
      throw PageFailure(
        status: 409, title: "Not possible", message: "Job \(job) is \(state.rawValue).",
        advice: "Look at the job again: somebody else may have changed it.")
    }
    let (title, button) =
      switch change {
      case .retry: ("Retry job \(job)?", "Retry the job")
      case .cancel: ("Cancel job \(job)?", "Cancel the job")
      case .uncancel: ("Queue job \(job) again?", "Queue the job again")
      }
    return Confirmation(
      title: title,
      content: "<p>It is \(state.html). \(change.consequences(1, undoneBy: "on its page"))</p>",
      button: button, back: "/jobs/\(job)")
  }

  private static func perform(
    _ change: JobChange, _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> DashboardAction.Outcome {
    let job = try JobPage.job(request)
    let outcomes = try await change.apply(to: [job], request, context)
    return .init(message: "Job \(job): \(outcomes.first?.text ?? "unchanged").", path: "/jobs/\(job)")
  }
}
