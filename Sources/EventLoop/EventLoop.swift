internal import Glibc
internal import Synchronization

/// One thread over epoll that waits for descriptors and timers and runs Swift tasks in between.
///
/// It is a `TaskExecutor`, so that a worker's tasks run on it (`withTaskExecutorPreference(loop)`),
/// and a `SerialExecutor`, so that an actor whose `unownedExecutor` is the loop shares its thread: a
/// task that awaits such an actor changes no thread, and the handlers of that actor's descriptors may
/// enter it by `assumeIsolated`. Nothing that blocks may run on it.
///
/// Descriptors and timers are handled on the loop's thread only; `execute`, `sleep` and the enqueueing
/// of jobs may come from anywhere.
public final class EventLoop: TaskExecutor, SerialExecutor, Sendable {
  /// What the loop's clock says: monotonic, not counting from any date.
  public static var now: ContinuousClock.Instant { ContinuousClock.now }

  let core: LoopCore
  private let thread: LoopThread

  /// Starts the loop's thread.
  ///
  /// - Parameter name: The thread's name in `top` and in debuggers, of at most 15 bytes.
  /// - Throws: `EventLoopError` when the process is out of descriptors, memory or threads.
  public init(name: String = "loop") throws(EventLoopError) {
    let core = try LoopCore()
    self.core = core
    thread = try LoopThread(name: name) { core.run() }
    core.adopt(self)
  }

  deinit {
    shutdown()
  }

  /// Whether the caller is on the loop's own thread.
  public var isCurrent: Bool { core.isCurrent }

  /// Stops the thread after the jobs that are already in its inbox, and waits for its end.
  ///
  /// Does nothing the second time. Called on the loop's own thread it only asks for the stop, since a
  /// thread cannot wait for itself.
  public func shutdown() {
    core.stop()
    if isCurrent { thread.detach() } else { thread.join() }
  }
}

// MARK: - Executor

extension EventLoop {
  /// Takes a job of the Swift runtime and runs it on the loop's thread, in the order of arrival.
  public func enqueue(_ job: consuming ExecutorJob) {
    core.enqueue(.job(UnownedJob(job)))
  }

  /// The loop as the executor of an actor.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  /// Lets `assumeIsolated` succeed on the loop's thread and stop the program elsewhere.
  public func checkIsolated() {
    precondition(isCurrent, "This must run on the event loop's own thread.")
  }

  /// Whether the caller is on the loop's own thread.
  public func isIsolatingCurrentContext() -> Bool? {
    isCurrent
  }
}

// MARK: - Work

extension EventLoop {
  /// Runs a closure on the loop's thread, after the jobs that are waiting there.
  public func execute(_ body: @escaping @Sendable () -> Void) {
    core.enqueue(.closure(body))
  }

  /// Returns after a time on the loop's clock.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(for duration: Duration) async throws(CancellationError) {
    let sleeper = Sleeper()
    let completed = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard sleeper.wait(continuation) else { return }
        execute {
          let token = self.schedule(after: duration) { sleeper.finish(true) }
          if !sleeper.keep(token) { self.cancel(token) }
        }
      }
    } onCancel: {
      sleeper.finish(false)
      execute { if let token = sleeper.token { self.cancel(token) } }
    }
    if !completed { throw CancellationError() }
  }
}

// MARK: - Timers and descriptors, on the loop's thread

extension EventLoop {
  /// Calls a handler once after a time, on the loop's thread. Call on the loop's thread.
  public func schedule(after delay: Duration, _ handler: @escaping @Sendable () -> Void) -> TimerToken {
    core.schedule(at: EventLoop.now + delay, handler)
  }

  /// Drops a timer; one that has fired is ignored. Call on the loop's thread.
  public func cancel(_ token: TimerToken) {
    core.cancel(token)
  }

  /// Calls a handler on the loop's thread whenever a descriptor is ready (level-triggered).
  ///
  /// The loop does not own the descriptor: `unwatch` it before it is closed. Call on the loop's thread.
  /// - Throws: `EventLoopError` when the descriptor is watched already, is closed, or is a plain file.
  public func watch(
    _ descriptor: Int32, _ interest: Interest, _ handler: @escaping @Sendable (Readiness) -> Void
  ) throws(EventLoopError) {
    try core.watch(descriptor, interest, handler)
  }

  /// Changes what a watched descriptor is watched for, from the loop's next round on: of what changes to and fro in one
  /// round the system hears nothing. Call on the loop's thread.
  /// - Throws: `EventLoopError` when the descriptor is not watched.
  public func update(_ descriptor: Int32, _ interest: Interest) throws(EventLoopError) {
    try core.update(descriptor, interest)
  }

  /// Stops watching; a readiness that was already collected is not delivered. Call on the loop's thread.
  public func unwatch(_ descriptor: Int32) {
    core.unwatch(descriptor)
  }
}

/// A system call that the loop needs failed; nearly always for want of descriptors or memory.
public struct EventLoopError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The system call, for instance `epoll_create1`.
  public let call: String
  /// Its `errno`.
  public let errno: Int32

  /// The call, what the system said, and what to do where that is known.
  public var description: String {
    let hint =
      errno == EMFILE || errno == ENFILE
      ? " Raise the limit of open files (LimitNOFILE in the unit, ulimit -n in a shell)." : ""
    return "\(call) failed: \(String(cString: strerror(errno))).\(hint)"
  }
}
