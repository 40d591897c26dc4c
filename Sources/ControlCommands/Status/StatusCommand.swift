import Administration
import CommandLineTool
import JobQueue

/// `analysisctl status`.
enum StatusCommand {
  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "status", abstract: "Show what waits in the queue and who works on it.",
      discussion: """
        Counting stops at 10,000 jobs a lane, so that asking never burdens the queue; a plus sign says that there \
        are more.

        Of each worker is shown what it has counted since its start, some seconds old: jobs done, tried again and \
        dead, jobs of lost workers that it took back (RESCUED), outcomes that came after the lease had gone and \
        stored nothing (STALE), leases that it lost, connections to the database that it made (six are usual) \
        and that failed; and how it finds each endpoint: open, shut after failures, or paused.
        """,
      examples: [
        Example("analysisctl status", "Lanes and workers."),
        Example("analysisctl status --json", "The same for a program."),
      ],
      exitCodes: [.done, .usage, .unreachable, .tryLater]
    ) { context in
      try await context.withSession(dependencies) { session in
        let response = StatusResponse(
          queue: try await QueueStatus.read(session.database),
          schemaVersion: try await Migrator(session.database).status().version)
        try session.view.show(response, by: StatusPresenter.self)
        return .done
      }
    }
  }
}

/// What there is to say of a queue.
struct StatusResponse: Sendable, Equatable {
  let queue: QueueStatus
  let schemaVersion: Int
}
