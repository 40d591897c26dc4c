import HTTPServing
import Queue
import Support

/// The list of jobs: all of them by number, or the dead ones by their end, with their causes.
enum JobsPage {
  static let page = DashboardPage(
    path: "/jobs", section: .jobs, roles: JobRights.readers + [.submitter],
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
    // Not before it is asked for: every reading is recorded for the person whose it is.
    let mayRead = try await context.has(JobReviews.roles)
    let showsFindings = mayRead && request.query[findings] != nil
    let results = showsFindings ? try await list.results(context) : nil
    let title = question.isOfAll ? nil : "Jobs: \(question.description.shortened(to: nameLength))"
    return Page(
      title: title ?? Section.jobs.title,
      content: """
        \(filters(question, namesCause: !rights.seesOwnAlone))
        \(HTML.live("states", tabs(question, question.isOfState ? await counts(context) : [:])))
        \(changes(question, list, rights))
        \(mayRead && !showsFindings ? findingsLink(question) : nil)
        \(HTML.live("list", list.table(isFirst: place == nil, question, rights, results)))
        \(next(question, list, showsFindings))
        """,
      isLive: place == nil && !showsFindings)
  }

  /// What the address has where the list shows what was found.
  private static let findings = "findings"

  private static func findingsLink(_ question: JobQuestion) -> HTML {
    """
    <p><a class="button" href="\(question.address("/jobs", [(findings, "shown")]))">Show what was found</a> \
    The audit records that it is read.</p>
    """
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

  /// How many jobs of each state the login sees; nothing where that is not its turn to be read, or the schema of before
  /// does not say.
  private static func counts(_ context: DashboardContext) async -> [JobState: BoundedCount] {
    let reading = Reading(key: "states", age: .seconds(10), statements: 1, saysAge: false) {
      try await context.jobs.counts()
    }
    return (try? await context.value(of: reading)) ?? [:]
  }

  /// The jobs of each state, with how many of it are kept, of whatever month.
  private static func tabs(_ question: JobQuestion, _ counts: [JobState: BoundedCount]) -> HTML {
    func tab(_ state: JobState?) -> HTML {
      let current: HTML = question.filter.state == state ? " aria-current=\"page\"" : ""
      let count = state.flatMap { counts[$0] }.map { count in
        " <span class=\"count\">\(count.description)</span>" as HTML
      }
      let name = state.map { $0.rawValue.prefix(1).uppercased() + $0.rawValue.dropFirst() } ?? "All"
      return """
        <li><a href="\(question.with(state).address("/jobs"))"\(current)>\(name)\(count)</a></li>
        """
    }
    let note: HTML? =
      counts.values.allSatisfy(\.isExact)
      ? nil
      : "<p class=\"quiet\">+ stands behind a number that may be larger, ~ before one that is about right.</p>"
    return """
      <nav class="tabs" aria-label="Jobs by state"><ul>\(tab(nil))\(JobState.allCases.map(tab))</ul></nav>\(note)
      """
  }

  /// What can be done to all that match. Without a filter that would be to everything, and is not offered.
  private static func changes(_ question: JobQuestion, _ list: List, _ rights: JobRights) -> HTML {
    guard !question.isOfAll, !list.rows.isEmpty else { return "" }
    let links = offered(question, rights).compactMap { change -> HTML? in
      guard question.filter.state != nil || change != .uncancel else { return nil }
      return "<a class=\"button\" href=\"\(MatchingJobs.path(change, question))\">\(title(change))</a> "
    }
    return links.isEmpty ? "" : "<p class=\"buttons\">\(links)</p>"
  }

  /// What this login may do to jobs that the question means.
  fileprivate static func offered(_ question: JobQuestion, _ rights: JobRights) -> [JobChange] {
    JobChange.allCases.filter { change in
      rights.may(change, own: rights.seesOwnAlone)
        && question.filter.state.map(change.states.contains) ?? true
    }
  }

  private static func title(_ change: JobChange) -> String {
    switch change {
    case .retry: "Retry the dead ones…"
    case .cancel: "Cancel those that have not ended…"
    case .uncancel: "Queue the cancelled ones again…"
    }
  }

  private static func next(_ question: JobQuestion, _ list: List, _ showsFindings: Bool) -> HTML {
    guard let next = list.next else { return "" }
    let address = question.address(
      "/jobs", [("after", next.text)] + (showsFindings ? [(findings, "shown")] : []))
    let note: HTML =
      list.isCutShort
      ? "<p class=\"notice\">The search stopped here, after many jobs that are not meant. There may be more.</p>"
      : ""
    return """
      \(note)<p><a rel="next" href="\(address)">Older jobs</a></p>
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

    /// What was found in those that have an analysis, which is recorded.
    func results(_ context: DashboardContext) async throws -> [JobID: StoredResult] {
      let done = Dictionary(grouping: rows.map(\.job).filter { $0.state == .succeeded }, by: \.user)
      let jobs = done.mapValues { $0.map(\.id) }
      return try await context.jobs.results(of: jobs, by: context.actor(reason: nil))
    }

    /// - Parameter results: What was found; nil where it is not shown.
    func table(
      isFirst: Bool, _ question: JobQuestion, _ rights: JobRights, _ results: [JobID: StoredResult]?
    ) -> HTML {
      let end = isOfDead ? "Worker" : "File"
      let offers = JobsPage.offered(question, rights)
      var columns: [DataTable.Column] = [
        .init("Job"), .init("User"), .init("Lane"), .init("State"), .init("Submitted"), .init("Ended"),
        .init("Cause"), .init("Attempts", isNumber: true), .init(end),
      ]
      if results != nil { columns.append(.init("Found")) }
      // What has no page is changed from here.
      if rights.seesOwnAlone { columns.append(.init("What to do")) }
      var table = DataTable(
        isOfDead ? "Dead jobs, those that died last first" : "Jobs, the latest first", columns,
        empty: isCutShort ? "No jobs so far." : isFirst ? "No jobs." : "No more jobs.")
      for row in rows {
        let job = row.job
        let number = job.id.description
        let mark: HTML? = offers.isEmpty ? nil : Self.mark(number)
        let link: HTML = rights.seesOwnAlone ? "\(number)" : "<a href=\"/jobs/\(number)\">\(number)</a>"
        var cells: [HTML] = [
          "<span class=\"word\">\(mark)\(link)</span>",
          "\(job.user.shortened(to: JobsPage.nameLength))",
          "<span class=\"word\">\(job.lane.description)</span>", job.state.html,
          .time(job.createdAt), .time(job.finishedAt),
          "\(row.cause?.description.shortened(to: JobsPage.nameLength) ?? "")", "\(job.attempts)",
          "\((isOfDead ? row.worker : job.sourceName)?.shortened(to: JobsPage.nameLength) ?? "")",
        ]
        if let results { cells.append("\(results[job.id]?.primary)") }
        if rights.seesOwnAlone { cells.append(Self.changes(of: job, question, rights)) }
        table.add(cells, id: "job-\(number)")
      }
      return rows.isEmpty || offers.isEmpty ? table.html : Self.form(table.html, offers, question)
    }

    private static func mark(_ number: String) -> HTML {
      """
      <input type="checkbox" name="\(JobQuestion.chosenJob)" value="\(number)" id="mark-\(number)" \
      aria-label="Mark job \(number)">\u{20}
      """
    }

    /// The table in a form that leads to the question what is to be done to those that are marked.
    private static func form(_ table: HTML, _ offers: [JobChange], _ question: JobQuestion) -> HTML {
      let words = question.words.sorted { $0.key < $1.key }.map { word in
        "<input type=\"hidden\" name=\"\(word.key)\" value=\"\(word.value)\">" as HTML
      }
      let buttons = offers.map { change in
        """
        <button formaction="/matching/\(change.rawValue)" aria-label="\(change.title) those marked">\(change.title)…</button>\u{20}
        """ as HTML
      }
      return """
        <form method="get" action="/matching/\(offers[0].rawValue)">
        \(words)<input type="hidden" name="\(JobQuestion.choice)" value="1">
        \(table)
        <p class="buttons marked">Those marked: \(buttons)</p>
        </form>
        """
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
