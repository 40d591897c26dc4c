import Administration
import CommandLineTool
import EventLoop
import Formatting
import JobQueue
import PostgreSQL

/// `analysisctl status --watch`: the status again and again, by one statement each time, until Ctrl-C or SIGTERM.
struct StatusWatch {
  private let session: ControlSession
  private let schemaVersion: Int
  /// Where it is drawn; nil where lines of JSON are printed.
  private let screen: Screen?

  private static let interval: Duration = .seconds(2)

  init(session: ControlSession, schemaVersion: Int) {
    self.session = session
    self.schemaVersion = schemaVersion
    screen = session.view.isJSON ? nil : Screen(session.console)
  }

  func run() async throws -> ExitCode {
    try screen?.open()
    defer { screen?.close() }
    var last: StatusResponse?
    do {
      while true {
        var failure: JobQueueError?
        do throws(JobQueueError) {
          last = StatusResponse(
            queue: try await QueueStatus.read(session.database), schemaVersion: schemaVersion)
        } catch {
          guard error.isTemporary else { throw error }
          failure = error
        }
        try show(last, failure)
        try await session.database.loop.sleep(for: Self.interval)
      }
    } catch {
      // The signal cancels whatever is under way: that is how watching ends.
      guard session.interruption.isAsked else { throw error }
      return .done
    }
  }

  /// Shows what was read last, and why there is nothing newer.
  private func show(_ response: StatusResponse?, _ failure: JobQueueError?) throws {
    guard let screen else {
      if let failure { session.console.say("\(failure.message); trying again") }
      if failure == nil, let response { try session.view.show(response) }
      return
    }
    try screen.draw { terminal in
      let paint = Paint(terminal)
      let now = Moment.short(UnixTime.now.secondsSince1970)
      let heading = failure.map { paint.red(printable("\(now)  \($0.message); trying again")) }
      let text = response?.text(width: terminal.width, paint: paint) ?? ""
      return (heading ?? paint.dim("\(now)  every 2 s; Ctrl-C ends")) + "\n\n" + text
    }
  }
}
