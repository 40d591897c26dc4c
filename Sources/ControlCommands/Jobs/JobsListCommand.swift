import Administration
import AnalysisCore
import CommandLineTool
import JobQueue
import PostgreSQL

/// `analysisctl jobs list`.
enum JobsListCommand {
  static let limit = Option("limit", .int(in: 1...10_000), default: 50, help: "How many at most.")
  static let after = Option<JobCursor?>("after", .jobCursor, help: "Go on where the list before ended.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "list", abstract: "List jobs, the latest first.",
      discussion: """
        A page looks at \(JobDirectory.looks) jobs beside those that it shows. If what is asked for is rarer than that, \
        it ends before it is full, perhaps empty, says where the search goes on, and the exit code is 7.

        \(JobsCommand.numbers)
        """,
      examples: [
        Example("analysisctl jobs list", "The latest jobs."),
        Example("analysisctl jobs list --user u1 --month 2026-10 --json", "One user's month, for a program."),
      ],
      inputs: JobFilterOptions.all + [limit, after],
      exitCodes: [.done, .cutShort, .usage, .unreachable, .tryLater]
    ) { context in
      let request = JobsListRequest(
        selection: try JobSelection(context.values), after: try context.values[after],
        limit: try context.values[limit])
      return try await context.withSession(dependencies) { session in
        let page = try await JobsListInteractor(database: session.database).answer(request)
        try session.view.show(page, by: JobsListPresenter.self)
        if let next = page.next, !session.view.isJSON {
          let place = ValueFormat.jobCursor.text(next)
          session.console.say(
            page.isCutShort
              ? "The search stopped here, and there may be more: --after \(place)"
              : "There are more: --after \(place)")
        }
        return page.isCutShort ? .cutShort : .done
      }
    }
  }
}

/// Which page of which list.
struct JobsListRequest: Sendable {
  var selection: JobSelection
  var after: JobCursor?
  var limit: Int
}

/// Lists jobs.
struct JobsListInteractor: Sendable {
  let database: ConnectionPool

  func answer(_ request: JobsListRequest) async throws -> JobPage {
    let filter = try await MonthResolver(database: database).filter(request.selection)
    return try await JobDirectory(database).list(filter, after: request.after, limit: request.limit)
  }
}

extension ValueFormat where Value == JobCursor {
  /// `2026-10/123`: the month and the number of the last job of a page.
  static var jobCursor: Self {
    ValueFormat(
      name: "PLACE",
      parse: { (given: String) throws(ValueError) -> JobCursor in
        let parts = given.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let period = Period(parts[0]), let job = JobID(parts[1]) else {
          throw ValueError("is not a place in a list; give the one that the list before ended with")
        }
        return JobCursor(period: period, job: job)
      },
      text: { "\($0.period)/\($0.job)" })
  }
}
