import Administration
import AnalysisCore
import CommandLineTool
import JobQueue
import PostgreSQL

/// `analysisctl jobs show`.
enum JobsShowCommand {
  static let job = Argument("job", .jobID, help: "The job's number.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "show", abstract: "Show a job with its attempts and its result.",
      discussion: """
        Each attempt that brought no result is listed, those of lost workers (worker_lost) too, with the \
        endpoint's status, code and error id. CALLS has a question mark where the endpoint may have counted a \
        call that brought nothing; COUNTS says whether it is one of the attempts that a job has.

        Of an analysed job, who looks at it, and why, is recorded first: see analysisctl audit. A standby cannot, and \
        refuses it. An operator sees why a job failed, and no analysis.

        \(JobsCommand.numbers)
        """,
      examples: [Example("analysisctl jobs show 123", "One job.")],
      inputs: [ReasonOption.reason, job],
      exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      let (job, reason) = (try context.values[job], try context.values[ReasonOption.reason])
      return try await context.withSession(dependencies) { session in
        let detail = try await JobsShowInteractor(
          database: session.database, actor: session.actor(reason)
        ).answer(job)
        try session.view.show(detail, by: JobsShowPresenter.self)
        return .done
      }
    }
  }
}

/// Reads a job.
struct JobsShowInteractor: Sendable {
  let database: ConnectionPool
  /// Who reads it, for the audit.
  let actor: AuditActor

  func answer(_ job: JobID) async throws -> JobDetail {
    guard let detail = try await JobDirectory(database).show(job, by: actor) else {
      throw ControlError(.refused, "there is no job \(job)", advice: "Look with analysisctl jobs list.")
    }
    return detail
  }
}
