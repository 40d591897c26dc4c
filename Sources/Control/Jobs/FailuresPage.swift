import HTTPServing
import Queue
import Support

/// The jobs that failed, by their causes.
enum FailuresPage {
  static let page = DashboardPage(
    path: "/failures", section: .failures, roles: JobRights.readers,
    render: { request, context in try await render(request, context) })

  /// How many causes are shown of the dead, and of those that are to be tried again.
  private static let most = 40

  private static func render(_ request: HTTPRequest, _ context: DashboardContext) async throws -> Page {
    let groups = try await context.value(
      of: Reading(key: "failures", statements: context.shards.count) {
        try await context.jobs.failureGroups()
      })
    let mayRetry = try await context.jobRights().changesAll
    return Page(
      title: Section.failures.title,
      content: .live(
        "groups",
        """
        <section id="dead"><h2>Dead</h2>
        \(note(groups.isAllDead, "Only the last \(JobDirectory.failureLooks) dead jobs were looked at."))
        \(table(groups.dead, "Dead jobs by cause, those that died last first", groups.isAllDead, mayRetry))
        </section>
        <section id="retrying"><h2>To be tried again</h2>
        \(note(groups.isAllRetrying, "Only the next jobs of each lane were looked at."))
        \(table(groups.retrying, "Jobs to be tried again, by the cause of their last attempt", groups.isAllRetrying, mayRetry))
        </section>
        """),
      isLive: true)
  }

  private static func note(_ isAll: Bool, _ text: String) -> HTML? {
    isAll ? nil : "<p class=\"notice\">\(text) There may be more of each cause.</p>"
  }

  private static func table(
    _ groups: [FailureGroup], _ caption: String, _ isAll: Bool, _ mayRetry: Bool
  ) -> HTML {
    var table = DataTable(
      caption,
      [
        .init("Cause"), .init("Last message"), .init("Jobs", isNumber: true), .init("First"), .init("Last"),
        .init("A job"), .init("What to do"),
      ], empty: "None.")
    for group in groups.prefix(most) {
      let alike = JobQuestion(like: group.job)
      let retry: HTML? =
        mayRetry
        ? """
         <a href="\(MatchingJobs.path(.retry, alike))" aria-label="Retry those that died like job \
        \(group.job.description)">Retry…</a>
        """ : nil
      let change: HTML =
        group.state == .dead
        ? """
        <a href="\(alike.address("/jobs"))" aria-label="Jobs that died like job \(group.job.description)">List</a>\(retry)
        """ : "tried again by themselves"
      table.add(
        [
          "\(group.cause.description.shortened(to: 100))", "\(group.message.shortened(to: 160))",
          "\(group.count)\(isAll ? "" : "+")", .time(group.firstAt),
          .time(group.lastAt),
          "<a href=\"/jobs/\(group.job.description)\">\(group.job.description)</a>", change,
        ],
        id: "\(group.state.rawValue)-\(group.cause.description)-\(group.cause.messageStart ?? "")".shortened(
          to: 200))
    }
    let rest = groups.count - most
    let more: HTML? =
      rest > 0 ? "<p>\(rest) more \(rest == 1 ? "cause" : "causes"), which came up earlier.</p>" : nil
    return "\(table.html)\(more)"
  }
}
