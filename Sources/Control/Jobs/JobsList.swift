import CommandLineTool
import Queue
import Support

enum JobsListCommand {
  static let failed = Flag("failed", help: "Only dead jobs, those that died last first, with their causes.")
  static let sort = Option<Order?>(
    "sort", .choice(Order.self), help: "By the time of submission, or of the end (with --failed).")
  static let columns = Option<[JobColumn]?>(
    "columns", .jobColumns, help: "Which columns the table has, with commas between them.")
  static let limit = Option("limit", .int(in: 1...10_000), default: 50, help: "How many at most.")
  static let after = Option<ListPlace?>("after", .listPlace, help: "Go on where the list before ended.")

  /// How many times a list of what waits searches before it is cut short.
  static let waitingSearches = 100

  /// By what a list is sorted, the latest first.
  enum Order: String, CaseIterable, Sendable {
    case submitted, ended
  }

  static let command = ControlCommand(
    "list", abstract: "List jobs, the latest first.",
    discussion: """
      A page checks at most \(JobDirectory.looks) jobs that do not match, \(waitingSearches) times as many with \
      --state waiting. Then it stops, perhaps empty, says where to go on, and the exit code is 7.

      The columns are \(JobColumn.allCases.map(\.rawValue).joined(separator: ", ")); cause and worker are those of \
      failed jobs. The worker is the one of the last attempt, by its machine and process, or by its number when it \
      has been gone for a day.

      \(JobsCommand.numbers)
      """,
    examples: [
      Example("analysisctl jobs list", "The latest jobs."),
      Example("analysisctl jobs list --failed --limit 20", "The last 20 failures, with their causes."),
      Example(
        "analysisctl jobs list --failed --columns job,user,cause,ended,worker",
        "The same, with the columns named."),
      Example("analysisctl jobs list --failed --cause server", "What died of one cause."),
      Example("analysisctl jobs list --user u1 --month 2026-10 --json", "One user's month, for a program."),
      Example("analysisctl jobs list --reference visit-4711", "What was submitted for a visit."),
      Example("analysisctl jobs list --batch B17 --state dead", "What died of a batch."),
    ],
    inputs: JobFilterOptions.all + [JobFilterOptions.cause, failed, sort, columns, limit, after],
    exitCodes: [.done, .cutShort, .usage, .unreachable, .tryLater]
  ) { context in
    let list = try JobList(context)
    return try await context.withSession { session in try await list.run(session) }
  }
}

/// Which list is asked for.
private struct JobList: Sendable {
  private(set) var selection: JobSelection
  let isOfFailed: Bool
  let columns: [JobColumn]
  let limit: Int
  let after: ListPlace?

  init(_ context: ControlContext) throws {
    selection = try JobSelection(context)
    selection.cause = try context[JobFilterOptions.cause]
    isOfFailed = try context[JobsListCommand.failed]
    limit = try context[JobsListCommand.limit]
    after = try context[JobsListCommand.after]
    columns = try context[JobsListCommand.columns] ?? (isOfFailed ? JobColumn.ofFailed : JobColumn.usual)
    let order = try context[JobsListCommand.sort]
    if isOfFailed {
      if let state = selection.state, state != .dead {
        throw CommandFailure.usage("--failed is of dead jobs, and --state is \(state.rawValue)")
      }
      if order == .submitted { throw CommandFailure.usage("--failed is sorted by the end") }
    } else {
      if selection.cause != nil {
        throw CommandFailure.usage("only failed jobs have a cause", advice: "Give --failed too.")
      }
      if order == .ended {
        throw CommandFailure.usage(
          "only failed jobs can be sorted by their end", advice: "Give --failed too.")
      }
      if let column = columns.first(where: JobColumn.onlyOfFailed.contains) {
        throw CommandFailure.usage(
          "only failed jobs have the column \(column.rawValue)", advice: "Give --failed too.")
      }
    }
    switch (after, isOfFailed) {
    case (.number?, true), (.time?, false):
      throw CommandFailure.usage("--after is of another list", advice: "Give the options of the list before.")
    default: break
    }
  }

  func run(_ session: ControlSession) async throws -> ExitCode {
    let directory = JobDirectory(session.database)
    let filter = try await selection.filter(session.database)
    if isOfFailed {
      var place: TimeCursor?
      if case .time(let cursor) = after { place = cursor }
      let page = try await directory.failed(filter, after: place, limit: limit)
      try session.view.show(FailedJobsResponse(page: page, columns: columns))
      return end(session, page.next.map { .time($0) }, isCutShort: page.isCutShort)
    }
    var place: JobCursor?
    if case .number(let cursor) = after { place = cursor }
    let page = try await directory.list(
      filter, after: place, limit: limit,
      searches: filter.state == .waiting ? JobsListCommand.waitingSearches : 1)
    try session.view.show(JobsListResponse(page: page, columns: columns))
    return end(session, page.next.map { .number($0) }, isCutShort: page.isCutShort)
  }

  /// Says where the list goes on.
  private func end(_ session: ControlSession, _ next: ListPlace?, isCutShort: Bool) -> ExitCode {
    if let next {
      session.view.sayUnlessJSON(
        isCutShort
          ? "The search stopped here, and there may be more: --after \(next.text)"
          : "There are more: --after \(next.text)")
    }
    return isCutShort ? .cutShort : .done
  }
}

extension ValueFormat where Value == ListPlace {
  /// A position that the list before named.
  static var listPlace: Self {
    ValueFormat(
      name: "PLACE",
      read: { ListPlace($0) },
      else: "is not a position in a list; give the one that the list before ended with",
      text: \.text)
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
