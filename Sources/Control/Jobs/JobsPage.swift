import HTTPServing
import Queue
import Support

/// The list of jobs: all of them by number, or the dead ones by their end, with their causes.
enum JobsPage {
  static let page = DashboardPage(
    path: "/jobs", section: .jobs, roles: [.operator, .clinician],
    render: { request, context in try await render(request, context) })

  /// How many jobs a page has.
  private static let size = 50
  /// How much is shown of a name that somebody chose.
  static let nameLength = 60

  private static func render(_ request: HTTPRequest, _ context: DashboardContext) async throws -> Page {
    let question = try JobQuestion(request.query)
    let rights = try await context.jobRights()
    if rights.seesOwnAlone, !question.isOfLabel { return try ownJobs(question, context) }
    let isByEnd = question.isOfDead && !rights.seesOwnAlone
    let place = try place(request.query["after"], isByEnd: isByEnd)
    let list = try await context.value(
      of: Reading(
        key: question.address("jobs", [("after", place?.text ?? "")]),
        // A user's shard, or a cause, is looked for first, and why jobs are dead afterwards.
        statements: 2 * context.shards.count + (question.filter.user == nil ? 0 : 1)
          + (question.like == nil ? 0 : context.shards.count + 1)
      ) { try await List.read(question, after: place, context.jobs, rights) })
    let title = question.isOfAll ? nil : "Jobs: \(question.description.shortened(to: nameLength))"
    return Page(
      title: title ?? Section.jobs.title,
      content: """
        \(filters(question, namesCause: !rights.seesOwnAlone))
        \(changes(question, list, rights))
        \(HTML.live("list", list.table(isFirst: place == nil, question, rights)))
        \(next(question, list))
        """,
      isLive: place == nil)
  }

  /// What a back-end sees that has not said which of its jobs it means.
  private static func ownJobs(_ question: JobQuestion, _ context: DashboardContext) throws -> Page {
    let lack = JobQuestion.lacksLabel(context)
    guard question.isOfAll else { throw lack }
    return Page(
      title: Section.jobs.title,
      content: """
        \(filters(question, namesCause: false))
        <p>\(lack.message) Enter one of them, or choose one of the <a href="/batches">batches</a>.</p>
        """)
  }

  private static func place(_ text: String?, isByEnd: Bool) throws(PageFailure) -> ListPlace? {
    guard let text, !text.isEmpty else { return nil }
    guard let place = ListPlace(text) else { throw .invalid("The list does not go on there.") }
    switch (place, isByEnd) {
    case (.number, false), (.time, true): return place
    default: throw .invalid("The list that goes on there is another one.")
    }
  }

  // MARK: - Around the list

  /// - Parameter namesCause: Whether the login may ask for the cause of deaths.
  private static func filters(_ question: JobQuestion, namesCause: Bool) -> HTML {
    """
    <form class="filters" method="get" action="/jobs" aria-label="Which jobs">
    \(input("user", "User", question))
    \(choice("type", "Type", AnalysisKind.allCases.map(\.rawValue), question))
    \(choice("state", "State", JobState.allCases.map(\.rawValue), question))
    \(input("month", "Month", question, hint: "2026-11"))
    \(input("batch", "Batch", question, hint: "B17"))
    \(input("reference", "Reference", question))
    \(namesCause ? input("cause", "Cause, of dead jobs", question, hint: "server 500") : nil)
    <p><button>Show</button> <a href="/jobs">All jobs</a></p>
    </form>
    """
  }

  private static func input(
    _ name: String, _ label: String, _ question: JobQuestion, hint: String = ""
  ) -> HTML {
    """
    <p><label for="\(name)">\(label)</label>
    <input id="\(name)" name="\(name)" size="12" autocomplete="off" placeholder="\(hint)" \
    value="\(question.words[name] ?? "")"></p>
    """
  }

  private static func choice(
    _ name: String, _ label: String, _ values: [String], _ question: JobQuestion
  ) -> HTML {
    let options = values.map { value -> HTML in
      let isChosen: HTML = question.words[name] == value ? " selected" : ""
      return "<option\(isChosen)>\(value)</option>"
    }
    return """
      <p><label for="\(name)">\(label)</label>
      <select id="\(name)" name="\(name)"><option value="">any</option>\(options)</select></p>
      """
  }

  /// What can be done to all that match. Without a filter that would be to everything, and is not offered.
  private static func changes(_ question: JobQuestion, _ list: List, _ rights: JobRights) -> HTML {
    guard !question.isOfAll, !list.rows.isEmpty else { return "" }
    let links = JobChange.allCases.filter { rights.may($0, own: rights.seesOwnAlone) }.compactMap {
      change -> HTML? in
      guard question.filter.state.map(change.states.contains) ?? (change != .uncancel) else { return nil }
      return "<a class=\"button\" href=\"\(MatchingJobs.path(change, question))\">\(title(change))</a> "
    }
    return links.isEmpty ? "" : "<p class=\"buttons\">\(links)</p>"
  }

  private static func title(_ change: JobChange) -> String {
    switch change {
    case .retry: "Retry the dead ones…"
    case .cancel: "Cancel those that have not ended…"
    case .uncancel: "Queue the cancelled ones again…"
    }
  }

  private static func next(_ question: JobQuestion, _ list: List) -> HTML {
    guard let next = list.next else { return "" }
    let note: HTML =
      list.isCutShort
      ? "<p class=\"notice\">The search stopped here, after many jobs that are not meant. There may be more.</p>"
      : ""
    return """
      \(note)<p><a rel="next" href="\(question.address("/jobs", [("after", next.text)]))">Older jobs</a></p>
      """
  }
}

extension JobsPage {
  /// A page of the list.
  fileprivate struct List: Sendable {
    struct Row: Sendable {
      let job: JobSummary
      let cause: FailureCause?
      let worker: String?
    }

    let rows: [Row]
    let next: ListPlace?
    let isCutShort: Bool
    let isOfDead: Bool

    static func read(
      _ question: JobQuestion, after place: ListPlace?, _ directory: JobDirectory, _ rights: JobRights
    ) async throws -> List {
      let filter = try await question.filter(directory)
      if question.isOfDead, !rights.seesOwnAlone {
        var after: TimeCursor?
        if case .time(let cursor)? = place { after = cursor }
        let page = try await directory.failed(filter, after: after, limit: JobsPage.size)
        return List(
          rows: page.jobs.map { Row(job: $0.summary, cause: $0.cause, worker: $0.workerName) },
          next: page.next.map { .time($0) }, isCutShort: page.isCutShort, isOfDead: true)
      }
      var after: JobCursor?
      if case .number(let cursor)? = place { after = cursor }
      let page = try await directory.list(filter, after: after, limit: JobsPage.size)
      let causes = rights.seesOwnAlone ? [:] : try await directory.causes(of: page.jobs)
      return List(
        rows: page.jobs.map { Row(job: $0, cause: causes[$0.id], worker: nil) },
        next: page.next.map { .number($0) }, isCutShort: page.isCutShort, isOfDead: false)
    }

    func table(isFirst: Bool, _ question: JobQuestion, _ rights: JobRights) -> HTML {
      let end = isOfDead ? "Worker" : "File"
      var columns: [DataTable.Column] = [
        .init("Job"), .init("User"), .init("Lane"), .init("State"), .init("Submitted"), .init("Ended"),
        .init("Cause"), .init("Attempts", isNumber: true), .init(end),
      ]
      // What has no page is changed from here.
      if rights.seesOwnAlone { columns.append(.init("What to do")) }
      var table = DataTable(
        isOfDead ? "Dead jobs, those that died last first" : "Jobs, the latest first", columns,
        empty: isCutShort ? "No jobs so far." : isFirst ? "No jobs." : "No more jobs.")
      for row in rows {
        let job = row.job
        let number = job.id.description
        let cells: [HTML] = [
          rights.seesOwnAlone ? "\(number)" : "<a href=\"/jobs/\(number)\">\(number)</a>",
          "\(job.user.shortened(to: JobsPage.nameLength))", "\(job.lane.description)", job.state.html,
          .time(job.createdAt), .time(job.finishedAt),
          "\(row.cause?.description.shortened(to: JobsPage.nameLength) ?? "")", "\(job.attempts)",
          "\((isOfDead ? row.worker : job.sourceName)?.shortened(to: JobsPage.nameLength) ?? "")",
        ]
        table.add(cells + (rights.seesOwnAlone ? [Self.changes(of: job, question, rights)] : []))
      }
      return table.html
    }

    private static func changes(of job: JobSummary, _ question: JobQuestion, _ rights: JobRights) -> HTML {
      let links = JobChange.allCases.filter { rights.may($0, own: true) && $0.states.contains(job.state) }.map
      {
        change -> HTML in
        let path = question.address("/jobs/\(job.id)/\(change.rawValue)")
        return
          "<a href=\"\(path)\" aria-label=\"\(change.title) job \(job.id.description)\">\(change.title)…</a>"
      }
      return "\(links)"
    }
  }
}

extension JobState {
  /// The word, in the colour that it has on a terminal too.
  var html: HTML {
    switch self {
    case .succeeded: "<span class=\"good\">\(rawValue)</span>"
    case .dead: "<span class=\"bad\">\(rawValue)</span>"
    case .cancelled: "<span class=\"quiet\">\(rawValue)</span>"
    default: "\(rawValue)"
    }
  }
}
