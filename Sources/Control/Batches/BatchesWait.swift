import CommandLineTool
import EventLoop
import PostgreSQL
import Queue
import Support

enum BatchesWaitCommand {
  static let timeout = Option<Duration?>("timeout", .duration, help: "Wait at most so long; then exit 75.")

  static let command = ControlCommand(
    "wait", abstract: "Wait until every job of a batch has ended; exit 1 if one failed.",
    discussion: """
      It ends when no job of the batch is open, also where more are submitted to it afterwards. A database that goes \
      away meanwhile is waited for too.
      """,
    examples: [Example("analysisctl batches wait B17 --timeout 1h", "For an hour at most.")],
    inputs: [timeout, BatchesCommand.batch],
    exitCodes: [.done, .jobFailed, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (batch, timeout) = (try context[BatchesCommand.batch], try context[timeout])
    return try await context.withSession { session in
      let status = try await BatchWatch(session, until: timeout).run(batch) { _ in }
      try session.view.show(status)
      return status.counts.open > 0 ? .tryLater : status.exitCode
    }
  }
}

enum BatchesWatchCommand {
  static let command = ControlCommand(
    "watch", abstract: "Show how far a batch is until every job of it has ended; exit 1 if one failed.",
    discussion: """
      On a terminal one line is redrawn; elsewhere there is a line, or with --json an object, whenever something has \
      changed.
      """,
    examples: [Example("analysisctl batches watch B17", "Until it is done.")],
    inputs: [BatchesWaitCommand.timeout, BatchesCommand.batch],
    exitCodes: [.done, .jobFailed, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (batch, timeout) = (try context[BatchesCommand.batch], try context[BatchesWaitCommand.timeout])
    return try await context.withSession { session in
      let terminal = session.console.outputTerminal
      let redraws = terminal.isTerminal && !session.view.isJSON
      let status: BatchStatus
      do {
        status = try await BatchWatch(session, until: timeout).run(batch) { status in
          if redraws {
            try session.console.output.write(
              "\r\(truncated(status.line, to: terminal.width - 1))\u{1B}[K")
          } else {
            try session.view.show(BatchLine(status: status))
          }
        }
      } catch {
        if redraws { try? session.console.print("") }
        throw error
      }
      if redraws { try session.console.print("") }
      return status.counts.open > 0 ? .tryLater : status.exitCode
    }
  }
}

/// How far a batch is, in one line.
struct BatchLine: Sendable, Equatable, Presentable {
  let status: BatchStatus

  var json: JSONValue { status.json }

  func text(width: Int?, paint: Paint) -> String { printable(status.line) + "\n" }
}

/// Looks at a batch until all its jobs have ended or the time is over.
struct BatchWatch: Sendable {
  private let session: ControlSession
  private let end: ContinuousClock.Instant?

  /// A look costs the server what the batch has of jobs: the pause after one is so many times as long at least.
  private static let restfulness = 20

  init(_ session: ControlSession, until timeout: Duration?) {
    self.session = session
    end = timeout.map { EventLoop.now + $0 }
  }

  /// Answers the last that was seen.
  ///
  /// - Parameter changed: Called with the first status, and with each that is another than the one before.
  func run(_ batch: BatchID, changed: (BatchStatus) throws -> Void) async throws -> BatchStatus {
    let directory = BatchDirectory(session.database)
    var status = try await BatchesCommand.status(of: batch, session)
    try changed(status)
    var schedule = JobDirectory.WaitSchedule()
    var retries = RetryPauses(.database)
    var afterFailure: Duration?
    var cost = Duration.zero
    while status.counts.open > 0 {
      var pause = afterFailure ?? max(schedule.next(), cost * Self.restfulness)
      if let end {
        guard EventLoop.now < end else { break }
        pause = min(pause, end - EventLoop.now)
      }
      try await session.database.loop.sleep(for: pause)
      let began = EventLoop.now
      do {
        let next = try await directory.refreshed(status)
        (cost, afterFailure) = (EventLoop.now - began, nil)
        retries.reset()
        if next != status {
          try changed(next)
          schedule.reset()
        }
        status = next
      } catch let error as JobQueueError where error.isTemporary {
        afterFailure = retries.next()
        if retries.failures == 1 {
          session.console.say("\(error.message) The batch is waited for all the same.")
        }
      }
    }
    return status
  }
}
