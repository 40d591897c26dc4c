import CommandLineTool
import Queue
import Support

enum ReviewsListCommand {
  static let job = Option<JobID?>("job", .jobID, help: "What was said of this job, with the comments.")
  static let verdict = Option<Verdict?>(
    "verdict", .choice(Verdict.self), help: "Only those with this verdict.")
  static let limit = Option("limit", .int(in: 1...10_000), default: 50, help: "How many at most.")
  static let after = Option<ListPlace?>("after", .listPlace, help: "Go on where the list before ended.")

  private static let filters: [any Input] = [
    JobFilterOptions.user, verdict, JobFilterOptions.month, limit, after,
  ]

  static let command = ControlCommand(
    "list", abstract: "List the verdicts, the latest first, or all that was said of a job.",
    discussion: """
      The list has the present verdict of each clinician and job that this login may see. COMMENTS counts those of the \
      job, of whomever. Times are in UTC.

      With --job all of it is shown: each version of each verdict, and the comments. That it is read, with what was \
      found, is recorded first: see analysisctl audit.
      """,
    examples: [
      Example("analysisctl reviews list", "The latest verdicts."),
      Example("analysisctl reviews list --job 123", "All that was said of one job."),
      Example("analysisctl reviews list --user u1 --verdict disagree --json", "Of one user, for a program."),
    ],
    inputs: [job] + filters + [ReasonOption.reason],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission], feature: .reviews
  ) { context in
    guard let job = try context[job] else { return try await list(context) }
    for filter in filters where context.values.source(of: filter) == .commandLine {
      throw CommandFailure.usage("--job and \(filter.definition.spelling) cannot be given together")
    }
    return try await context.withSession { session in
      try await session.requireReviews(of: job)
      let jobs = JobDirectory(session.database)
      guard let detail = try await jobs.show(job, by: session.actor) else {
        throw CommandFailure(.refused, "there is no job \(job)", advice: "Look with analysisctl jobs list.")
      }
      return try session.show(
        ReviewThreadResponse(
          detail: detail, remarks: try await ReviewDirectory(session.database).remarks(on: detail)))
    }
  }

  private static func list(_ context: ControlContext) async throws -> ExitCode {
    let (user, verdict) = (try context[JobFilterOptions.user], try context[verdict])
    let (month, limit) = (try context[JobFilterOptions.month], try context[limit])
    var place: TimeCursor?
    switch try context[after] {
    case nil: break
    case .time(let cursor): place = cursor
    case .number: throw CommandFailure.usage("--after is of another list")
    }
    let cursor = place
    return try await context.withSession { session in
      let filter = ReviewFilter(
        user: user, verdict: verdict, month: try await month?.period(session.database))
      let page = try await ReviewDirectory(session.database).list(filter, after: cursor, limit: limit)
      try session.view.show(ReviewsListResponse(page: page))
      if let next = page.next {
        session.view.sayUnlessJSON("There are more: --after \(ListPlace.time(next).text)")
      }
      return .done
    }
  }
}

struct ReviewsListResponse: Sendable, Equatable, Presentable {
  let page: ReviewPage

  private var columns: [ListColumn<Review>] {
    let instead = ListColumn<Review>("INSTEAD", shrinks: true) { Cell($0.instead ?? "") }
    return [
      .init("JOB", alignment: .right) { Cell($0.job.description) }
        .json("job") { .id($0.job) }
        .json("month") { .month($0.period) },
      .init("USER", wraps: true) { Cell($0.user) }.json("user") { .string($0.user) },
      .init("VERDICT") { Cell($0.verdict.rawValue, $0.verdict.colour) }
        .json("verdict") { .string($0.verdict.rawValue) }
        .json("instead") { .text($0.instead) },
    ] + (page.reviews.contains { $0.instead != nil } ? [instead] : []) + [
      .init(json: "version") { .count($0.version) },
      .init("BY", shrinks: true) { Cell($0.reviewer) }.json("by") { .string($0.reviewer) },
      .init("AT") { Cell(Moment.short($0.at)) }.json("at") { .time($0.at) },
      .init("MONTH", mayGo: true) { Cell($0.period.description) },
      .init("COMMENTS", alignment: .right) { Cell($0.comments) }.json("comments") { .count($0.comments) },
    ]
  }

  var json: JSONValue {
    ["reviews": page.reviews.json(columns), "next": .text(page.next.map { ListPlace.time($0).text })]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !page.reviews.isEmpty else { return "No reviews.\n" }
    return page.reviews.table(columns).render(width: width, paint: paint)
  }
}

/// All that was said of a job.
struct ReviewThreadResponse: Sendable, Equatable, Presentable {
  let detail: JobDetail
  let remarks: [ReviewRemark]

  private var primary: StoredCondition? {
    detail.result.flatMap { StoredCondition.read($0.conditionsJSON).first }
  }

  var json: JSONValue {
    [
      "job": .id(detail.summary.id), "user": .string(detail.summary.user), "primary": primary?.json ?? .null,
      "remarks": .array(remarks.map(\.json)),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let found =
      primary.map { condition in
        [condition.name, condition.percentage, condition.mark?.rawValue].compactMap(\.self)
          .joined(separator: ", ")
      } ?? (detail.result == nil ? nil : "no condition")
    let facts = Facts([
      ("job", detail.summary.id.description), ("user", detail.summary.user),
      ("state", detail.summary.state.rawValue), ("found", found),
    ])
    guard !remarks.isEmpty else { return facts.text + "\nNobody has reviewed it.\n" }
    return facts.text + "\n" + remarks.map { $0.text(width: width, paint: paint) }.joined()
  }
}

extension Verdict {
  fileprivate var colour: Paint.Colour {
    switch self {
    case .agree: .green
    case .disagree: .red
    case .unsure: .yellow
    }
  }
}

extension ReviewRemark {
  fileprivate var json: JSONValue {
    switch said {
    case .verdict(let verdict, let instead, let version, let replacedAt):
      [
        "at": .time(at), "by": .string(by), "verdict": .string(verdict.rawValue), "instead": .text(instead),
        "version": .count(version), "replaced_at": .time(replacedAt),
      ]
    case .comment(let comment): ["at": .time(at), "by": .string(by), "comment": .string(comment)]
    }
  }

  /// A line that says who and when, and of a comment its own lines below that.
  fileprivate func text(width: Int?, paint: Paint) -> String {
    let head = "\(Moment.short(at))  \(printable(by))"
    switch said {
    case .verdict(let verdict, let instead, _, let replacedAt):
      let text = verdict.text(instead: instead.map { printable($0) })
      return replacedAt == nil
        ? "\(head): \(paint(text, verdict.colour))\n" : "\(head): \(text), changed later\n"
    case .comment(let comment):
      // Its line ends are the only characters of it that a terminal obeys.
      let lines = printable(comment, keeping: "\n").split(separator: "\n", omittingEmptySubsequences: false)
      let shown = lines.flatMap { line in width.map { paragraph(String(line), to: $0 - 4) } ?? [String(line)]
      }
      return "\(head) wrote\n" + shown.map { $0.isEmpty ? "\n" : "    \($0)\n" }.joined()
    }
  }
}
