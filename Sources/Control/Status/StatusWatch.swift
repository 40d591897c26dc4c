import CommandLineTool
import EventLoop
import PostgreSQL
import Queue
import Support

/// `analysisctl status --watch`: the status again and again, by one statement each time, until Ctrl-C or SIGTERM.
struct StatusWatch: RepeatedLook {
  let session: ControlSession
  private let schemaVersion: Int
  /// Where it is drawn; nil where lines of JSON are printed.
  private let screen: Screen?
  private var last: StatusResponse?

  private static let interval: Duration = .seconds(2)

  init(session: ControlSession, schemaVersion: Int) {
    self.session = session
    self.schemaVersion = schemaVersion
    screen = session.view.isJSON ? nil : Screen(session.console)
  }

  func run() async throws -> ExitCode {
    try screen?.open()
    defer { screen?.close() }
    var watch = self
    return try await watch.watch()
  }

  mutating func look() async throws -> Bool {
    last = StatusResponse(
      queue: try await QueueStatus.read(session.database), schemaVersion: schemaVersion)
    try show(nil)
    return true
  }

  mutating func failed(_ error: JobQueueError, isFirst: Bool) throws { try show(error) }

  func pause() async throws { try await session.loop.sleep(for: Self.interval) }

  /// Shows what was read last, and why there is nothing newer.
  private func show(_ failure: JobQueueError?) throws {
    guard let screen else {
      if let failure { session.console.say("\(failure.message); trying again") }
      if failure == nil, let last { try session.view.show(last) }
      return
    }
    try screen.draw { terminal in
      let paint = Paint(terminal)
      let now = Moment.short(UnixTime.now.secondsSince1970)
      let heading = failure.map { paint.red(printable("\(now)  \($0.message); trying again")) }
      let text = last?.text(width: terminal.width, paint: paint) ?? ""
      return (heading ?? paint.dim("\(now)  every 2 s; Ctrl-C ends")) + "\n\n" + text
    }
  }
}
