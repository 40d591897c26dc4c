import HTTPServing
import Queue
import Support

/// A job: what is kept of it, what happened to it, and what was found.
enum JobPage {
  static let page = DashboardPage(
    path: "/jobs/*", section: .jobs, roles: JobRights.readers,
    render: { request, context in try await render(request, context) })

  /// The job that an address names.
  static func job(_ request: HTTPRequest) throws(PageFailure) -> JobID {
    guard let job = request.parameters.first.flatMap({ JobID($0) }) else {
      throw .invalid("A job is found by its number.")
    }
    return job
  }

  private static func render(_ request: HTTPRequest, _ context: DashboardContext) async throws -> Page {
    let job = try job(request)
    guard let detail = try await detail(job, context) else {
      throw PageFailure.missing("There is no job \(job), or none that login \(context.login) may see.")
    }
    // Whose it is, a back-end that sees the jobs of others is not told.
    let mayChange = try await context.jobRights().changesAll
    let reviews = try await JobReviews.html(detail, context)
    let seesPicture = try await context.has(JobPicture.roles)
    return Page(
      title: "Job \(job)",
      content: .live(
        "job",
        """
        \(links(detail, mayChange))
        \(facts(detail))
        \(seesPicture ? picture(job) : nil)
        <section id="timeline"><h2>What happened</h2>
        \(JobTimeline(detail).html)</section>
        <section id="result">\(result(detail))</section>
        <section id="reviews">\(reviews)</section>
        <section id="attempts">\(attempts(detail))</section>
        """),
      isLive: detail.summary.finishedAt == nil)
  }

  /// The job. Who reads a result is recorded each time: it is never shown from what was read for somebody else, and not
  /// read where a page only brings itself up to date.
  private static func detail(_ job: JobID, _ context: DashboardContext) async throws -> JobDetail? {
    let isLive = context.visit.isLive
    let known = try await context.value(
      of: Reading(
        key: "job \(job)", age: isLive ? QueueMonitor.statusAge : .zero, statements: 4 + context.shards.count
      ) { try await context.jobs.showWithoutResult(job) })
    guard !isLive, var detail = known else { return known }
    try await context.jobs.readResult(of: &detail, by: context.actor(reason: nil))
    return detail
  }

  private static func facts(_ detail: JobDetail) -> HTML {
    let job = detail.summary
    let facts: [(name: String, value: HTML?)] = [
      ("State", job.state.html), ("User", "\(job.user)"), ("Lane", "\(job.lane.description)"),
      ("Month", "\(job.period.description)"), ("File", job.sourceName.map { "\($0)" }),
      ("Reference", detail.reference.map { "\($0)" }),
      ("Batch", detail.batch.map { "<a href=\"/batches/\($0.description)\">\($0.description)</a>" }),
      ("Expires", job.expiresAt.map { .time($0) }), ("Attempts that count", "\(job.attempts)"),
      ("Cause", detail.death.map(cause)),
    ]
    return .facts(facts + (detail.holder.map(holder) ?? []))
  }

  /// The picture, where it is unfolded: who came for something else has it neither loaded nor recorded.
  private static func picture(_ job: JobID) -> HTML {
    """
    <details id="picture"><summary>The picture; the audit records that it is seen</summary>
    <img class="photo" src="/jobs/\(job.description)/picture" loading="lazy" alt="The picture of job \(job.description), \
    where it is still there">
    </details>
    """
  }

  private static func cause(_ death: JobDeath) -> HTML {
    let cause = FailureCause(death.failureClass, status: death.status, code: death.code)
    return "<span class=\"bad\">\(cause.description)</span>: \(death.message ?? "")"
  }

  private static func holder(_ holder: JobHolder) -> [(name: String, value: HTML?)] {
    [
      ("Worker", "\(holder.text)"),
      ("Heard of", "\(holder.heartbeatAgo.map { Moment.age($0) + " ago" } ?? "not yet")"),
      ("Held until", "\(Moment.short(holder.deadline)), unless the worker moves that on"),
      ("Endpoint", "\(holder.endpoints.joined(separator: ", "))"),
    ]
  }

  /// What can be done to it, and where there are others like it.
  private static func links(_ detail: JobDetail, _ mayChange: Bool) -> HTML {
    let job = detail.summary
    let changes = JobChange.allCases.filter { mayChange && $0.states.contains(job.state) }
    let links = changes.map { change -> HTML in
      "<a class=\"button\" href=\"/jobs/\(job.id.description)/\(change.rawValue)\">\(change.title)…</a> "
    }
    let alike: HTML? =
      job.state == .dead
      ? "<a class=\"button\" href=\"\(JobQuestion(like: job.id).address("/jobs"))\">Jobs that died of the same cause</a>"
      : nil
    return links.isEmpty && alike == nil ? "" : "<p class=\"buttons\">\(links)\(alike)</p>"
  }

  // MARK: - The result

  private static func result(_ detail: JobDetail) -> HTML {
    if detail.isResultHidden {
      return """
        <h2>Result</h2>
        <p>There is an analysis. It is not shown: only a clinician's role may read it.</p>
        """
    }
    guard let result = detail.result else {
      guard detail.summary.state == .succeeded else { return "" }
      return """
        <h2>Result</h2>
        <p><a href="/jobs/\(detail.summary.id.description)">Load the page anew</a> to see what was found; the audit \
        records that it is read.</p>
        """
    }
    var table = DataTable(
      "What was found, the primary condition first", [.init("Condition"), .init("Confidence and band")],
      empty: "No condition was found.")
    for condition in StoredCondition.read(result.conditionsJSON) {
      table.add(["\(condition.name.shortened(to: 200))", .confidence(condition.confidence, condition.mark)])
    }
    let names = ["Serious", "Consultation advised"]
    let flags = zip(names + names.map { "\($0), says the endpoint" }, result.flags)
    let facts: [(name: String, value: HTML?)] = flags.map { name, flag in (name, flag.map { "\($0)" }) }
    return """
      <h2>Result</h2>
      \(table.html)
      \(HTML.facts(facts + [("Analysis", "\(result.analysisID)"), ("Model", result.model.map { "\($0)" })]))
      """
  }

  // MARK: - The attempts

  private static func attempts(_ detail: JobDetail) -> HTML {
    guard !detail.attempts.isEmpty else { return "" }
    let shown = detail.attempts.suffix(JobTimeline.mostAttempts)
    let caption =
      shown.count < detail.attempts.count
      ? "The last \(shown.count) of \(detail.attempts.count) attempts that failed" : "Attempts that failed"
    var table = DataTable(
      caption,
      [
        .init("Attempt"), .init("Ended"), .init("Cause"), .init("Calls", isNumber: true),
        .init("Used an attempt"), .init("Worker"), .init("Endpoint"), .init("Error id"),
      ], empty: "")
    for attempt in shown {
      let cause = FailureCause(attempt.failureClass, status: attempt.status, code: attempt.code)
      table.add([
        "\(attempt.attempt)", .time(attempt.at), "\(cause.description.shortened(to: 100))",
        attempt.maybeCounted && attempt.calls > 0
          ? "\(attempt.calls), perhaps counted by the endpoint" : "\(attempt.calls)",
        attempt.consumed ? "yes" : "no", "\(attempt.workerText)",
        "\((attempt.endpoint ?? "").shortened(to: 100))", "\((attempt.errorID ?? "").shortened(to: 100))",
      ])
    }
    return "<h2>Attempts</h2>\n\(table.html)"
  }
}

/// What happened to a job, in the order in which it did. Times are those that the database has: when a job was claimed
/// is nowhere written down, and of calls that brought nothing only their end; so a length is shown where it is known.
struct JobTimeline {
  struct Event: Equatable {
    let at: Double
    let title: String
    var text = ""
    var style = ""
  }

  let events: [Event]

  /// How many attempts that failed are shown, the last ones; a job has at most 255 that count, and others that are
  /// folded.
  static let mostAttempts = 60

  init(_ detail: JobDetail) {
    let job = detail.summary
    var events = [Event(at: job.createdAt, title: "Submitted", text: "counts in \(job.period)")]
    if let runAt = job.runAt, runAt > job.createdAt + 1, job.state != .scheduled {
      events.append(Event(at: runAt, title: "Due", text: "it was to run from then on"))
    }
    events += detail.attempts.suffix(Self.mostAttempts).map(Self.attempt)
    events += Self.end(detail)
    self.events = events.sorted { $0.at < $1.at }
    now = Self.now(detail)
  }

  /// Where it is at present; nil once it has ended.
  private let now: String?

  private static func attempt(_ attempt: AttemptRecord) -> Event {
    let cause = FailureCause(attempt.failureClass, status: attempt.status, code: attempt.code)
    let facts = [
      "worker \(attempt.workerText)",
      attempt.calls == 1 ? "1 call" : "\(attempt.calls) calls",
      attempt.errorID.map { "error id \($0.shortened(to: 100))" },
      attempt.consumed ? nil : "does not count",
    ]
    return Event(
      at: attempt.at, title: "Attempt \(attempt.attempt) failed: \(cause.description.shortened(to: 100))",
      text: [
        attempt.message?.shortened(to: 300), "(" + facts.compactMap { $0 }.joined(separator: ", ") + ")",
      ]
      .compactMap { $0 }.joined(separator: " "), style: "bad")
  }

  private static func end(_ detail: JobDetail) -> [Event] {
    guard let at = detail.summary.finishedAt else { return [] }
    switch detail.summary.state {
    case .succeeded:
      guard let result = detail.result else { return [Event(at: at, title: "Stored", style: "good")] }
      let length = result.callMilliseconds.map { "the call took \($0) ms" }
      let facts = [
        "attempt \(result.attempt)", result.calls == 1 ? "1 call" : "\(result.calls) calls", length,
        result.endpoint.map { "endpoint \($0)" }, result.version.map { "worker's version \($0)" },
      ]
      return [
        Event(at: at, title: "Stored", text: facts.compactMap { $0 }.joined(separator: ", "), style: "good")
      ]
    case .dead:
      return [Event(at: at, title: "Died", text: "its unit was given back", style: "bad")]
    case .cancelled:
      return [Event(at: at, title: "Cancelled", text: "its unit was given back", style: "quiet")]
    default: return []
    }
  }

  private static func now(_ detail: JobDetail) -> String? {
    switch detail.summary.state {
    case .waiting: "Waits for a worker."
    case .scheduled: detail.summary.runAt.map { "Runs again from \(Moment.short($0)) on." }
    case .running: "Claimed by \(detail.holder.map { "worker \($0.text)" } ?? "a worker")."
    default: nil
    }
  }

  var html: HTML {
    """
    <ol class="timeline">
    \(zip(events, [nil] + events.map(Optional.some)).map(Self.line))\
    \(now.map { text in "<li><strong>Now</strong> \(text)</li>\n" as HTML })
    </ol>
    """
  }

  private static func line(_ event: Event, after before: Event?) -> HTML {
    let later = before.map {
      " <span class=\"quiet word\">\(Moment.age(event.at - $0.at)) later</span>" as HTML
    }
    return """
      <li><span class="quiet">\(Moment.short(event.at))</span> <strong class="\(event.style)">\(event.title)</strong>\
      \(later)<br>\(event.text)</li>

      """
  }
}

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
      buttons: PageConfirmation.sure(button, back: try await place(of: job, request, context)))
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

extension StoredResult {
  /// The primary condition and how sure the model is of it, as a clinician reads it.
  var primary: HTML {
    guard let first = StoredCondition.read(conditionsJSON).first else { return "no condition" }
    return "\(first.name.shortened(to: JobsPage.nameLength)) \(HTML.confidence(first.confidence, first.mark))"
  }
}
