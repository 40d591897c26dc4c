import CommandLineTool
import Queue
import Support

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
      _ = try await directory.results(of: ["-": [JobID(0)]])
    } catch {
      guard error.lacksRole else { throw error }
      throw CommandFailure(
        .permission, "this login may not read what was found",
        advice: "Watch without --conditions, or as a login with the role analysis_clinician.")
    }
  }

  /// What was found in the jobs of some events that are done.
  func results(of events: [QueueEvent]) async throws(JobQueueError) -> [JobID: StoredResult] {
    let done = Dictionary(grouping: events.filter { $0.kind == .done }) { $0.user ?? "" }
    return try await directory.results(of: done.mapValues { $0.compactMap(\.job) }, by: reader)
  }
}

/// An event in one line.
struct WatchedEvent: Sendable, Equatable, Presentable {
  let event: QueueEvent
  /// What was found, where that is shown.
  let result: StoredResult?

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "event", value: .string(event.kind.rawValue)), .init(name: "at", value: .time(event.at)),
    ]
    let more: [(String, JSONValue)] =
      event.job == nil
      ? [
        ("batch", .text(event.batch?.description)), ("subject", .text(event.subject)),
        ("name", .text(event.name)), ("message", .text(event.message)), ("by", .text(event.by)),
        ("count", .count(event.count)),
      ]
      : [
        ("job", .id(event.job)), ("user", .text(event.user)), ("type", .text(event.lane?.kind?.rawValue)),
        ("lane", .text(event.lane?.description)), ("batch", .text(event.batch?.description)),
        ("reference", .text(event.reference)), ("file", .text(event.file)),
        ("attempt", .count(event.attempt)), ("call_milliseconds", .count(event.callMilliseconds)),
        ("class", .text(event.subject)), ("code", .text(event.name)), ("message", .text(event.message)),
        ("by", .text(event.by)), ("result", result?.json ?? .null),
      ]
    members += more.map { .init(name: $0.0, value: $0.1) }
    return .object(members)
  }

  /// `14:03:02Z  done       123  u1  2.3 s`: the event and the number of the job are never cut, and what else there is
  /// to say goes before the user's name does.
  func text(width: Int?, paint: Paint) -> String {
    let word = event.kind == .leftOut ? "left out" : event.kind.rawValue
    let padded = word + String(repeating: " ", count: max(0, 9 - word.count))
    var line = EventText(
      "\(Self.clock(event.at))  \(colour.map { paint(padded, $0) } ?? padded)", used: 11 + padded.count,
      width: width)
    line.add(event.job.map { Self.right($0.description, 8) } ?? "", isWhole: true)
    line.add(event.user ?? "", isWhole: false)
    line.add(detail, isWhole: false)
    return line.text + "\n"
  }

  private var detail: String {
    let cause = [event.subject, event.name].compactMap { $0 }.joined(separator: " ")
    let parts: [String?] =
      switch event.kind {
      case .submitted: [event.lane?.description, event.batch?.description, event.reference]
      case .started: [event.attempt.map { $0 > 1 ? "attempt \($0)" : "" }]
      case .retried: [event.attempt.map { "attempt \($0)" }, cause, event.message]
      case .done: [event.callMilliseconds.map(Self.seconds), finding]
      case .dead: [cause, event.message]
      case .cancelled, .requeued: [event.by.map { "by \($0)" }]
      case .refused: [event.count.map(String.init), event.batch.map { "in \($0)" }]
      case .paused, .resumed:
        [
          event.subject == "all" ? "everything" : cause, event.by.map { "by \($0)" },
          event.message.map { "(\($0))" },
        ]
      case .leftOut:
        ["\(event.count.map { "about \($0)" } ?? "some") \(event.subject ?? "") more than were seen"]
      }
    return parts.compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: " ")
  }

  private var finding: String? {
    result.map { PhotoFinding.found($0).text(Paint(false)) }
  }

  private var colour: Paint.Colour? {
    switch event.kind {
    case .done: .green
    case .dead, .refused, .leftOut: .red
    case .retried, .paused: .yellow
    default: nil
    }
  }

  /// `14:03:02Z`.
  static func clock(_ seconds: Double) -> String { String(Moment.short(seconds).dropFirst(11)) }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private static func seconds(_ milliseconds: Int) -> String {
    "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
  }
}

/// A line that is put together from its parts, no wider than the terminal.
private struct EventText {
  private(set) var text: String
  private var used: Int
  private let width: Int?

  init(_ text: String, used: Int, width: Int?) {
    (self.text, self.used, self.width) = (text, used, width)
  }

  /// Adds a part, as much of it as there is room for, unless it has to be whole.
  mutating func add(_ part: String, isWhole: Bool) {
    let part = printable(part)
    guard !part.isEmpty else { return }
    var shown = part
    if let width, !isWhole {
      let room = width - used - 2
      guard room > 3 else { return }
      shown = truncated(part, to: room)
    }
    text += "  " + shown
    used += 2 + displayWidth(shown)
  }
}

/// Many events of a kind in one line: `14:03:02Z  done  3200 in 2 s`.
struct EventSum: Sendable, Equatable, Presentable {
  let kind: QueueEvent.Kind
  let count: Int
  let at: Double
  let seconds: Double

  init(kind: QueueEvent.Kind, count: Int, at: Double, in seconds: Double) {
    (self.kind, self.count, self.at, self.seconds) = (kind, count, at, seconds)
  }

  var json: JSONValue { ["event": .string(kind.rawValue), "at": .time(at), "count": .count(count)] }

  func text(width: Int?, paint: Paint) -> String {
    let word = kind.rawValue + String(repeating: " ", count: max(0, 9 - kind.rawValue.count))
    let time = seconds > 0 ? " in \(Int(seconds.rounded(.up))) s" : ""
    return "\(WatchedEvent.clock(at))  \(word)  \(count) jobs\(time)\n"
  }
}
