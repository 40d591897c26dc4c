import HTTPServing
import Queue
import Support

/// Changes of one job.
enum JobActions {
  static let all = JobChange.allCases.map { change in
    DashboardAction(
      path: "/jobs/*/\(change.rawValue)", section: .jobs, roles: change.roles,
      confirm: { request, context in try await confirm(change, request, context) },
      perform: { request, context in try await perform(change, request, context) })
  }

  private static func confirm(
    _ change: JobChange, _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> PageConfirmation {
    let job = try JobPage.job(request)
    guard let found = try await change.found([job], context)[job] else {
      throw PageFailure.missing("There is no job \(job), or none that login \(context.login) may see.")
    }
    guard found.isMeant else {
      throw PageFailure(
        status: 409, title: "Not possible", message: "Job \(job) is \(found.reason.rawValue).",
        advice: "Look at the job again: somebody else may have changed it.")
    }
    let (title, button) =
      switch change {
      case .retry: ("Retry job \(job)?", "Retry the job")
      case .cancel: ("Cancel job \(job)?", "Cancel the job")
      case .uncancel: ("Queue job \(job) again?", "Queue the job again")
      }
    return PageConfirmation(
      title: title,
      content:
        "<p>It is \(found.reason.rawValue). \(change.consequences(1, undoneBy: "where it is shown"))</p>",
      button: button, back: try await place(of: job, request, context))
  }

  private static func perform(
    _ change: JobChange, _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> DashboardAction.Outcome {
    let job = try JobPage.job(request)
    let outcomes = try await change.apply(to: [job], request, context)
    let outcome = outcomes.first ?? .untouched(.unknown)
    // A job that is gone has no page.
    let path =
      outcome == .untouched(.unknown) ? Section.jobs.path : try await place(of: job, request, context)
    return .init(message: Message([outcome], text: "Job \(job): \(outcome.text)."), path: path)
  }

  /// Where a job is shown to this login: on its page, or in the list that the address names.
  private static func place(
    of job: JobID, _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> String {
    guard try await context.jobRights().seesOwnAlone else { return "/jobs/\(job)" }
    return try JobQuestion(request.query).address(Section.jobs.path)
  }
}
