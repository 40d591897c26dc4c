import AnalysisCore
import CommandLineTool

/// `analysisctl jobs retry` and `analysisctl jobs cancel`.
enum JobsChangeCommand {
  static let dryRun = Flag("dry-run", help: "Only show which jobs are meant.")
  static let limit = Option("limit", .int(in: 1...1_000_000), default: 10_000, help: "How many at most.")
  static let jobs = Argument(repeating: "job", .jobID, help: "Jobs by number; none with a filter.")

  static func retry(_ dependencies: Dependencies) -> Command {
    command(
      "retry", .retry, abstract: "Queue dead jobs again.",
      discussion: """
        Each takes a unit of the present month of its user, the lowest numbers first; those for which the limit \
        has none left stay dead, and the exit code is 3.
        """,
      examples: [
        Example("analysisctl jobs retry 123", "One job."),
        Example("analysisctl jobs retry --user u1 --month previous", "What failed for a user last month."),
      ], exitCodes: [.done, .quotaRefused, .refused, .nothingToDo, .usage, .unreachable, .tryLater],
      dependencies)
  }

  static func cancel(_ dependencies: Dependencies) -> Command {
    command(
      "cancel", .cancel, abstract: "Cancel jobs and give their units back.",
      discussion: """
        A job that is running is cancelled too: what its worker brings is not stored. Jobs that have ended stay \
        as they are, and the exit code is 4. One that somebody else is retrying or cancelling at the moment is \
        left as it is after 2 s, and the exit code is 75.
        """,
      examples: [
        Example("analysisctl jobs cancel 123 124", "Two jobs."),
        Example("analysisctl jobs cancel 123 --reason duplicate", "With the reason, for the audit."),
        Example("analysisctl jobs cancel --user u1 --state scheduled --dry-run", "What would be cancelled."),
      ], exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater], dependencies)
  }

  private static func command(
    _ name: String, _ change: JobsChangeRequest.Change, abstract: String, discussion: String,
    examples: [Example], exitCodes: [ExitCode], _ dependencies: Dependencies
  ) -> Command {
    Command(
      name, abstract: abstract, discussion: discussion, examples: examples,
      inputs: JobFilterOptions.all + [limit, dryRun, ReasonOption.reason, jobs], exitCodes: exitCodes
    ) { context in
      let request = try JobsChangeRequest(change, context.values)
      let reason = try context.values[ReasonOption.reason]
      return try await context.withSession(dependencies) { session in
        let response = try await JobsChangeInteractor(
          database: session.database, actor: session.actor(reason)
        )
        .answer(request)
        try session.view.show(response, by: JobsChangePresenter.self)
        return response.exitCode
      }
    }
  }
}
