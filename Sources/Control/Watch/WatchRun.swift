import CommandLineTool
import EventLoop
import PostgreSQL
import Queue
import Support

/// One run of `analysisctl watch`.
struct WatchRun: RepeatedLook {
  /// More events of a kind than this, which one look has found, are summed up for people.
  static let shownAtOnce = 50

  let session: ControlSession
  /// Reads what was found; nil where it is not asked for.
  private let findings: WatchFindings?

  private let queue: QueueWatch
  private let isFiltered: Bool
  private let every: Duration
  /// How many events are still to be shown; nil for all that come.
  private var left: Int?
  /// From when on the first look tells, in seconds since 1970.
  private var since: Double?
  private let bell: Bell
  private var history: EventHistory
  private var position: WatchPosition?
  private var ahead = Self.ahead.lowerBound
  private var isAway = false
  private var isCut = false

  /// Jobs that are followed in each lane: at first, and at most.
  private static let ahead = 500...10_000
  /// Notifications may come by the hundred a second.
  private static let leastPause = Duration.milliseconds(100)

  init(
    _ session: ControlSession, _ filter: QueueWatch.Filter, every: Duration, count: Int?,
    findings: WatchFindings?
  ) {
    self.findings = findings
    (self.session, self.every, left) = (session, every, count)
    queue = QueueWatch(session.database, filter)
    isFiltered = filter != QueueWatch.Filter()
    bell = Bell(loop: session.loop)
    history = EventHistory(since: nil, isFiltered: isFiltered)
  }

  /// Has the first look tell what happened so lately.
  mutating func tell(_ past: Duration) async throws {
    since = try await queue.now() - past.inSeconds
    history = EventHistory(since: since, isFiltered: isFiltered)
  }

  mutating func run() async throws -> ExitCode {
    let listener = QueueListener(session.database.configuration, [.jobs, .ended], on: session.loop, log: nil)
    let bell = bell
    let listening = Task(executorPreference: session.loop) {
      // Only a help, where looking every second finds everything. What happened before it listened was not heard.
      await listener.run(changed: { if $0 { bell.ring() } }, heard: { _ in bell.ring() })
    }
    let outcome: Result<ExitCode, any Error>
    do { outcome = .success(try await watch()) } catch { outcome = .failure(error) }
    listening.cancel()
    await listening.value
    return try outcome.get()
  }

  mutating func look() async throws -> Bool {
    let look = try await queue.look(after: position, since: position == nil ? since : nil, ahead: ahead)
    // Kept once all is known of the events: what fails now is looked at again.
    var history = history
    var events = history.events(of: look)
    if let left { events = Array(events.prefix(left)) }
    var found: [JobID: StoredResult] = [:]
    if let findings { found = try await findings.results(of: events) }
    if isAway { session.console.say("The database is back; watching goes on where it was.") }
    let seconds = position.map { look.position.at - $0.at } ?? 0
    (self.history, position, isAway, isCut) = (history, look.position, false, look.isCut)
    if look.outrun > 0 { ahead = min(ahead * 2, Self.ahead.upperBound) }
    try show(events, found, seconds: seconds)
    left = left.map { $0 - events.count }
    return left != 0
  }

  mutating func failed(_ error: JobQueueError, isFirst: Bool) throws {
    isAway = true
    if isFirst { session.console.say("\(error.message) Watching goes on when it is back.") }
  }

  func pause() async throws {
    guard !isCut else { return }
    try await session.loop.sleep(for: min(Self.leastPause, every))
    await bell.wait(atMost: max(.zero, every - Self.leastPause))
  }

  private func show(_ events: [QueueEvent], _ found: [JobID: StoredResult], seconds: Double) throws {
    let many =
      session.view.isJSON
      ? [:]
      : Dictionary(grouping: events, by: \.kind).filter {
        $0.value.count > Self.shownAtOnce
      }
    for event in events where many[event.kind] == nil {
      try session.view.show(WatchedEvent(event: event, result: event.job.flatMap { found[$0] }))
    }
    for (kind, events) in many.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      try session.view.show(EventSum(kind: kind, count: events.count, at: events.last?.at ?? 0, in: seconds))
    }
  }
}
