import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue

/// `analysisctl jobs list`.
enum JobsListCommand {
  static let limit = Option("limit", .int(in: 1...10_000), default: 50, help: "How many at most.")
  static let after = Option<JobCursor?>("after", .jobCursor, help: "Go on where the list before ended.")

  static let command = ControlCommand(
    "list", abstract: "List jobs, the latest first.",
    discussion: """
      A page looks at \(JobDirectory.looks) jobs beside those that it shows. If what is asked for is rarer than that, \
      it ends before it is full, perhaps empty, says where the search goes on, and the exit code is 7.

      \(JobsCommand.numbers)
      """,
    examples: [
      Example("analysisctl jobs list", "The latest jobs."),
      Example("analysisctl jobs list --user u1 --month 2026-10 --json", "One user's month, for a program."),
      Example("analysisctl jobs list --reference visit-4711", "What was submitted for a visit."),
      Example("analysisctl jobs list --batch B17 --state dead", "What died of a batch."),
    ],
    inputs: JobFilterOptions.all + [limit, after],
    exitCodes: [.done, .cutShort, .usage, .unreachable, .tryLater]
  ) { context in
    let (selection, after) = (try JobSelection(context), try context[after])
    let limit = try context[limit]
    return try await context.withSession { session in
      let page = try await JobDirectory(session.database).list(
        selection.filter(session.database), after: after, limit: limit)
      try session.view.show(page)
      if let next = page.next.map(ValueFormat.jobCursor.text) {
        session.view.sayUnlessJSON(
          page.isCutShort
            ? "The search stopped here, and there may be more: --after \(next)"
            : "There are more: --after \(next)")
      }
      return page.isCutShort ? .cutShort : .done
    }
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
          throw ValueError("is not a position in a list; give the one that the list before ended with")
        }
        return JobCursor(period: period, job: job)
      },
      text: { "\($0.period)/\($0.job)" })
  }
}

/// Shows a page of jobs.
extension JobPage: Presentable {
  var json: JSONValue {
    [
      "jobs": .array(jobs.map(\.json)),
      "next": .text(next.map(ValueFormat.jobCursor.text)),
      "cut_short": .bool(isCutShort),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !jobs.isEmpty else { return isCutShort ? "No jobs so far.\n" : "No jobs.\n" }
    var table = Table([
      .init("JOB", alignment: .right), .init("USER", shrinks: true), .init("LANE"), .init("STATE"),
      .init("MONTH"), .init("SUBMITTED"), .init("ATTEMPTS", alignment: .right), .init("FILE", shrinks: true),
    ])
    for job in jobs {
      table.add([
        Cell(job.id.description), Cell(job.user), Cell(job.lane.description),
        Cell(job.state.rawValue, job.state.colour), Cell(job.period.description),
        Cell(Moment.short(job.createdAt)), Cell(job.attempts), Cell(job.sourceName ?? ""),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}

extension JobSummary {
  /// The job in one object.
  var json: JSONValue {
    [
      "job": .id(id), "user": .string(user), "type": .string(kind.rawValue),
      "lane": .string(lane.description),
      "state": .string(state.rawValue), "month": .month(period), "created_at": .time(createdAt),
      "run_at": .time(runAt), "expires_at": .time(expiresAt), "finished_at": .time(finishedAt),
      "attempts": .count(attempts), "file": .text(sourceName),
    ]
  }
}
