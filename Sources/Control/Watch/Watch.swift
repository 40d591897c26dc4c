import CommandLineTool
import Queue
import Support

/// `analysisctl watch`.
enum WatchCommand {
  static let since = Option<Duration?>(
    "since", .duration, help: "First show what happened lately, as far back as this.")
  static let conditions = Flag(
    "conditions", help: "Show what was found; a clinician may. That it is read is recorded.")
  static let count = Option<Int?>("count", .int(in: 1...1_000_000), help: "End after so many events.")
  static let every = Option(
    "every", .duration(in: .milliseconds(100) ... .seconds(3600)), default: .seconds(1),
    help: "How often it looks where nothing wakes it.")

  static let command = ControlCommand(
    "watch", abstract: "Show what happens in the queue, as it happens.",
    discussion: """
      A line for each event: submitted, requeued (after a cancellation or its death), started, retried (an attempt \
      failed and is made again), done, dead, cancelled, refused, paused, resumed. More than \
      \(WatchRun.shownAtOnce) of a kind at once are summed up in one line. With --json each event is an object on a \
      line, and nothing is summed up.

      It looks at once when submitters or workers (--notify-ended) send notifications, and every second where \
      nothing does, or through a pooler. A pause or a lost connection loses no event of the jobs that it follows, \
      which are those in work, the next 500 of each lane and all new ones. Where more is claimed between two looks, \
      it follows more from then on, and says that events were left out, and about how many.

      A started job may be one that waits in its worker for a moment. What was refused is counted by batch, or by \
      the limits of the user with --user. Ctrl-C ends it.
      """,
    examples: [
      Example("analysisctl watch", "Everything, until Ctrl-C."),
      Example("analysisctl watch --user u1 --since 10m", "One user, and the last ten minutes first."),
      Example("analysisctl watch --batch B17 --json", "A batch, for a program."),
    ],
    inputs: [
      JobFilterOptions.user, JobFilterOptions.batch, JobFilterOptions.kind, since, conditions, count, every,
      ReasonOption.reason,
    ],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let request = try WatchRequest(context)
    return try await context.withSession { session in try await request.run(session) }
  }
}

/// What is to be watched.
private struct WatchRequest: Sendable {
  let filter: QueueWatch.Filter
  let since: Duration?
  let count: Int?
  let every: Duration
  let showsConditions: Bool

  init(_ context: ControlContext) throws {
    filter = QueueWatch.Filter(
      user: try context[JobFilterOptions.user], batch: try context[JobFilterOptions.batch],
      kind: try context[JobFilterOptions.kind])
    since = try context[WatchCommand.since]
    count = try context[WatchCommand.count]
    every = try context[WatchCommand.every]
    showsConditions = try context[WatchCommand.conditions]
  }

  func run(_ session: ControlSession) async throws -> ExitCode {
    if let batch = filter.batch { _ = try await BatchesCommand.status(of: batch, session) }
    var findings: WatchFindings?
    if showsConditions {
      findings = try WatchFindings(session)
      try await findings?.requireRight()
    }
    var run = WatchRun(session, filter, every: every, count: count, findings: findings)
    if let since { try await run.tell(since) }
    return try await run.run()
  }
}

/// Reads what was found in jobs that are done, and records that it is read.
struct WatchFindings: Sendable {
  private let directory: JobDirectory
  /// Who reads it, for the audit.
  private let reader: AuditActor

  init(_ session: ControlSession) throws {
    directory = JobDirectory(session.database)
    reader = try session.actor
  }

  /// - Throws: `permission` where the login may not read what was found.
  func requireRight() async throws {
    do {
      _ = try await directory.results(of: [JobID(0)], user: "-")
    } catch {
      guard error.lacksRole else { throw error }
      throw CommandFailure(
        .permission, "this login may not read what was found",
        advice: "Watch without --conditions, or as a login with the role analysis_clinician.")
    }
  }

  /// What was found in the jobs of some events that are done.
  func results(of events: [QueueEvent]) async throws(JobQueueError) -> [JobID: StoredResult] {
    var results: [JobID: StoredResult] = [:]
    let done = events.filter { $0.kind == .done }
    for (user, events) in Dictionary(grouping: done, by: { $0.user ?? "" }).sorted(by: { $0.key < $1.key }) {
      let found = try await directory.results(of: events.compactMap(\.job), user: user, by: reader)
      results.merge(found) { $1 }
    }
    return results
  }
}
