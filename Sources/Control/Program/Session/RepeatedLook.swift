import CommandLineTool
import EventLoop
import Queue
import Support

/// What looks again and again until Ctrl-C or SIGTERM ends it, which is how watching ends.
protocol RepeatedLook {
  var session: ControlSession { get }
  /// One look; false when there is no more to see.
  mutating func look() async throws -> Bool
  /// Called when a look failed for a cause that passes; `isFirst`: the one before had not.
  mutating func failed(_ error: JobQueueError, isFirst: Bool) throws
  /// Waits until the next look.
  func pause() async throws
}

extension RepeatedLook {
  /// Looks until it is ended. While the database is away it goes on asking.
  mutating func watch() async throws -> ExitCode {
    var retries = RetryPauses(.database, least: .milliseconds(50))
    do {
      while true {
        do {
          guard try await look() else { return .done }
          retries.reset()
          try await pause()
        } catch let error as JobQueueError where error.isTemporary {
          let pause = retries.next()
          try failed(error, isFirst: retries.failures == 1)
          try await session.loop.sleep(for: pause)
        }
        try Task.checkCancellation()
      }
    } catch {
      // The signal cancels whatever is under way.
      guard session.interruption.isAsked else { throw error }
      return .done
    }
  }
}
