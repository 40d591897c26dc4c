import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import JobQueue

/// Shows a page of jobs.
enum JobsListPresenter: Presenter {
  static func json(_ page: JobPage) -> JSONValue {
    [
      "jobs": .array(page.jobs.map(json(of:))),
      "next": .text(page.next.map(ValueFormat.jobCursor.text)),
      "cut_short": .bool(page.isCutShort),
    ]
  }

  /// A job in one object.
  static func json(of job: JobSummary) -> JSONValue {
    [
      "job": .id(job.id), "user": .string(job.user), "type": .string(job.kind.rawValue),
      "lane": .string(job.lane.description), "state": .string(job.state.rawValue),
      "month": .month(job.period),
      "created_at": .time(job.createdAt), "run_at": .time(job.runAt), "expires_at": .time(job.expiresAt),
      "finished_at": .time(job.finishedAt), "attempts": .count(job.attempts), "file": .text(job.sourceName),
    ]
  }

  static func text(_ page: JobPage, width: Int?, paint: Paint) -> String {
    guard !page.jobs.isEmpty else { return page.isCutShort ? "No jobs so far.\n" : "No jobs.\n" }
    var table = Table([
      .init("JOB", alignment: .right), .init("USER", shrinks: true), .init("LANE"), .init("STATE"),
      .init("MONTH"), .init("SUBMITTED"), .init("ATTEMPTS", alignment: .right), .init("FILE", shrinks: true),
    ])
    for job in page.jobs {
      table.add([
        Cell(job.id.description), Cell(job.user), Cell(job.lane.description),
        Cell(job.state.rawValue, job.state.colour), Cell(job.period.description),
        Cell(Moment.short(job.createdAt)), Cell(job.attempts), Cell(job.sourceName ?? ""),
      ])
    }
    return table.render(width: width, paint: paint)
  }
}
