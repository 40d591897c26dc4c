import HTTPServing
import Queue
import Support

/// The batches, the newest first.
enum BatchesPage {
  static let page = DashboardPage(
    path: "/batches", section: .batches, roles: JobRights.readers + [.submitter],
    render: { request, context in try await render(request, context) })

  /// How many batches a page has.
  private static let size = 20

  private static func render(_ request: HTTPRequest, _ context: DashboardContext) async throws -> Page {
    let before = request.query["before"].flatMap { BatchID($0) }
    if request.query["before"] != nil, before == nil {
      throw PageFailure.invalid("The list does not go on there.")
    }
    let (list, age) = try await context.aged(
      Reading(
        key: "batches \(before?.description ?? "")", statements: 1 + context.shards.count,
        mayBeOld: { isSlow($0.batches.reduce(0) { $0 + $1.counts.jobs }, $1) }
      ) { try await context.batches.list(before: before, limit: size) })
    var table = DataTable(
      "Batches, the newest first",
      [
        .init("Batch"), .init("Name"), .init("Made"), .init("By"), .init("Progress"),
        .init("Done", isNumber: true), .init("Failed", isNumber: true), .init("Refused", isNumber: true),
        .init("Rate", isNumber: true), .init("Time left", isNumber: true),
      ], empty: list.isCutShort ? "No batches so far." : before == nil ? "No batches." : "No more batches.")
    for batch in list.batches { table.add(row(batch), id: "batch-\(batch.id)") }
    let next = list.next.map { next -> HTML in
      let note: HTML =
        list.isCutShort
        ? "<p class=\"notice\">The search stopped here, after many batches of other clinics. There may be more.</p>"
        : ""
      return
        "\(note)<p><a rel=\"next\" href=\"/batches?before=\(next.description)\">Older batches</a></p>"
    }
    return Page(
      title: Section.batches.title, content: .live("list", "\(table.html)\(counted(age))\(next)"),
      isLive: before == nil || age != nil)
  }

  /// Whether counts are shown while they are counted anew: those of many jobs, where that takes long.
  static func isSlow(_ jobs: Int, _ took: Duration) -> Bool { jobs >= 1000 && took >= .milliseconds(25) }

  /// How old counts are that are shown while a newer count goes on.
  static func counted(_ age: Duration?) -> HTML? {
    age.map {
      """
      <p class="notice">Counted \(Moment.age($0.inSeconds.rounded(.up))) ago, at most two minutes. These are many jobs, \
      and they are being counted anew.</p>
      """
    }
  }

  private static func row(_ batch: BatchStatus) -> [HTML] {
    let counts = batch.counts
    return [
      "<a href=\"/batches/\(batch.id.description)\">\(batch.id.description)</a>",
      "\(batch.shownName.shortened(to: JobsPage.nameLength))", .time(batch.createdAt),
      "\(batch.login ?? "")", progress(counts), "\(counts.succeeded)", failed(counts.dead),
      "\(batch.refused.map(String.init) ?? "")", "\(batch.shownRate ?? "")", "\(batch.shownTimeLeft ?? "")",
    ]
  }

  /// How many jobs failed, in red where there are any.
  static func failed(_ count: Int) -> HTML {
    count == 0 ? "0" : "<span class=\"bad\">\(count)</span>"
  }

  /// How far it is: a bar, and the same in words.
  static func progress(_ counts: BatchCounts) -> HTML {
    let text = "\(counts.ended) of \(counts.jobs)"
    return """
      <progress max="\(max(1, counts.jobs))" value="\(counts.ended)" aria-label="\(text) ended"></progress> \(text)
      """
  }
}

/// What the page of a batch shows of the database.
struct BatchReading: Sendable {
  /// Nil where there is no such batch that the login may see.
  let status: BatchStatus?
  let causes: [BatchCause]

  static func read(_ batch: BatchID, _ directory: BatchDirectory) async throws -> BatchReading {
    let status = try await directory.status(of: batch)
    let causes = (status?.counts.dead ?? 0) > 0 ? try await directory.causes(of: batch) : []
    return BatchReading(status: status, causes: causes)
  }
}

/// A batch: how far it is, why jobs of it failed, and what can be done.
enum BatchPage {
  static let page = DashboardPage(
    path: "/batches/*", section: .batches, roles: JobRights.readers + [.submitter],
    render: { request, context in try await render(request, context) })

  private static func render(_ request: HTTPRequest, _ context: DashboardContext) async throws -> Page {
    guard let id = request.parameters.first.flatMap({ BatchID($0) }) else {
      throw PageFailure.invalid("A batch is found by its number, such as B17.")
    }
    let (read, age) = try await context.aged(
      Reading(
        key: "batch \(id)", statements: 1 + 2 * context.shards.count,
        mayBeOld: { BatchesPage.isSlow($0.status?.counts.jobs ?? 0, $1) }
      ) { try await BatchReading.read(id, context.batches) })
    guard let batch = read.status else {
      throw PageFailure.missing("There is no batch \(id), or none that login \(context.login) may see.")
    }
    let rights = try await context.jobRights()
    let isOwn = rights.seesOwnAlone || batch.login == context.login
    return Page(
      title: "Batch \(id)",
      content: .live(
        "batch",
        """
        \(facts(batch))
        \(BatchesPage.counted(age))
        \(links(batch) { rights.may($0, own: isOwn) })
        \(causes(read.causes, haveJobsPages: rights.seesAll))
        """),
      isLive: batch.counts.open > 0 || age != nil)
  }

  private static func facts(_ batch: BatchStatus) -> HTML {
    let counts = batch.counts
    return .facts([
      ("Name", batch.name.map { "\($0)" }), ("Made", .time(batch.createdAt)),
      ("By", batch.login.map { "\($0)" }), ("Progress", BatchesPage.progress(counts)),
      ("Done", "\(counts.succeeded)"), ("Failed", BatchesPage.failed(counts.dead)),
      ("Cancelled", "\(counts.cancelled)"), ("Refused", batch.refused.map { "\($0)" }),
      ("Open", "\(counts.open)"), ("Rate, by the last minute", batch.shownRate.map { "\($0)" }),
      ("Time left", batch.shownTimeLeft.map { "\($0)" }),
      ("Last ended", counts.lastAt.map { .time($0) }),
    ])
  }

  private static func links(_ batch: BatchStatus, _ may: (JobChange) -> Bool) -> HTML {
    let question = JobQuestion(batch: batch.id)
    let cancel: HTML? =
      may(.cancel) && batch.counts.open > 0
      ? "<a class=\"button\" href=\"\(MatchingJobs.path(.cancel, question))\">Cancel what is left…</a> " : nil
    let retry: HTML? =
      may(.retry) && batch.counts.dead > 0
      ? "<a class=\"button\" href=\"\(MatchingJobs.path(.retry, question))\">Retry the dead ones…</a> " : nil
    return """
      <p class="buttons"><a class="button" href="\(question.address("/jobs"))">Its jobs</a> \(cancel)\(retry)</p>
      """
  }

  private static func causes(_ causes: [BatchCause], haveJobsPages: Bool) -> HTML? {
    guard !causes.isEmpty else { return nil }
    var table = DataTable(
      "Why jobs of it are dead", [.init("Cause"), .init("Jobs", isNumber: true), .init("Last job")], empty: ""
    )
    for cause in causes {
      let job = cause.lastJob.description
      table.add([
        "\(FailureCause(cause.failureClass, code: cause.code).description.shortened(to: 100))",
        "\(cause.count)",
        haveJobsPages ? "<a href=\"/jobs/\(job)\">\(job)</a>" : "\(job)",
      ])
    }
    return "<h2>Failures</h2>\n\(table.html)"
  }
}
