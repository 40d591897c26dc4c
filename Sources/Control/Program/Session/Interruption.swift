import CommandLineTool
import EventLoop
import Queue
import Support
import Synchronization

/// Whether the person at the keyboard, or the system, wants the command to end.
final class Interruption: Sendable {
  private struct State {
    var arrivals = 0
    var isGraceful = false
    var cancel: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  private let arrivals = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingOldest(1))

  /// Whether a signal has arrived.
  var isAsked: Bool { state.withLock { $0.arrivals > 0 } }

  /// From now on the first signal cancels nothing: the body looks at `isAsked` and ends in good order.
  func endGracefully() {
    state.withLock { $0.isGraceful = true }
  }

  /// Waits until a signal has arrived, for a command that has nothing else to do. That signal cancels nothing.
  func asked() async {
    endGracefully()
    for await _ in arrivals.stream { return }
  }

  /// From now on the first signal cancels again, and at once if it has come.
  func cancelAtOnce() {
    let cancel = state.withLock { state in
      state.isGraceful = false
      return state.arrivals > 0 ? state.cancel : nil
    }
    cancel?()
  }

  /// Runs the body with its tasks on the loop, and cancels it as signals want it.
  func run(
    on loop: EventLoop, _ signals: AsyncStream<Signal>,
    _ body: @escaping @Sendable () async throws -> ExitCode
  ) async -> Result<ExitCode, any Error> {
    let work = Task(executorPreference: loop) { try await body() }
    state.withLock { $0.cancel = { work.cancel() } }
    let watch = Task {
      for await _ in signals { self.signalArrived() }
    }
    defer { watch.cancel() }
    return await withTaskCancellationHandler {
      await work.result
    } onCancel: {
      work.cancel()
    }
  }

  /// Called for each signal.
  func signalArrived() {
    arrivals.continuation.yield()
    let cancel = state.withLock { state in
      state.arrivals += 1
      return state.isGraceful && state.arrivals == 1 ? nil : state.cancel
    }
    cancel?()
  }
}

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
