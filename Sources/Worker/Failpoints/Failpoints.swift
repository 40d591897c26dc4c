public import EventLoop
internal import Glibc
internal import Queue
public import Support
internal import Synchronization

/// The failpoints of this process. In a release build there are none, and reaching one is nothing.
public struct Failpoints: Sendable {
  /// The variable that sets them.
  static let variable = "ANALYSIS_FAILPOINTS"

  /// None are set.
  public static let none = Failpoints()

  #if DEBUG
    private let state: FailpointState?

    private init() {
      state = nil
    }

    /// The failpoints of a plan, whose delays pass on the loop.
    init(_ plan: FailpointPlan, loop: EventLoop, log: Log) {
      state = FailpointState(plan, loop: loop, log: log)
    }

    /// Reads them from the environment and says in the log that they are set.
    ///
    /// - Throws: A `WorkerError` when the variable is not understood.
    public static func read(
      _ environment: [String: String], loop: EventLoop, log: Log
    ) throws(WorkerError) -> Failpoints {
      guard let text = environment[variable], !text.isEmpty else { return .none }
      do throws(FailpointTextError) {
        let plan = try FailpointPlan(text)
        log.warning("Failpoints are set; this worker will fail on purpose", ["plan": .string(text)])
        return Failpoints(plan, loop: loop, log: log)
      } catch {
        throw WorkerError("\(variable) is not understood: \(error.description)", kind: .configuration)
      }
    }
  #else
    private init() {}

    /// There are none in a release build; says so in the log when some are wished for.
    public static func read(
      _ environment: [String: String], loop: EventLoop, log: Log
    ) throws(WorkerError) -> Failpoints {
      if environment[variable]?.isEmpty == false {
        log.warning("ANALYSIS_FAILPOINTS is set; a release build ignores it")
      }
      return .none
    }
  #endif
}

// MARK: - Reaching one

extension Failpoints {
  /// A failpoint is reached at which nothing can fail.
  @inline(__always)
  func pass(_ failpoint: Failpoint, _ jobs: @autoclosure () -> [JobID] = []) async {
    #if DEBUG
      guard let state else { return }
      _ = await carryOut(state.reached(failpoint, jobs()))
    #endif
  }

  /// A failpoint is reached at which the database may seem to be away.
  @inline(__always)
  func tryToPass(
    _ failpoint: Failpoint, _ jobs: @autoclosure () -> [JobID] = []
  ) async throws(JobQueueError) {
    #if DEBUG
      guard let state else { return }
      guard await carryOut(state.reached(failpoint, jobs())) else {
        throw JobQueueError(.unreachable, "The failpoint \(failpoint.rawValue) failed on purpose.")
      }
    #endif
  }

  /// A failpoint is reached in the midst of something that cannot wait.
  @inline(__always)
  func passAtOnce(_ failpoint: Failpoint, _ jobs: @autoclosure () -> [JobID] = []) {
    #if DEBUG
      guard let state else { return }
      state.strike(state.reached(failpoint, jobs()))
    #endif
  }

  /// A failpoint is reached while a statement is under way: a moment after it was sent or, when the server is
  /// quicker, before its answer is looked at.
  @inline(__always)
  func during<R>(
    _ failpoint: Failpoint, _ jobs: @autoclosure () -> [JobID] = [],
    _ statement: () async throws(JobQueueError) -> R
  ) async throws(JobQueueError) -> R {
    #if DEBUG
      guard let state else { return try await statement() }
      let actions = state.reached(failpoint, jobs())
      guard !actions.isEmpty else { return try await statement() }
      let pending = PendingActions(actions)
      let timer = state.loop.schedule(after: .milliseconds(1)) { state.strike(pending.take()) }
      defer { state.loop.cancel(timer) }
      let answer = try await statement()
      state.strike(pending.take())
      return answer
    #else
      return try await statement()
    #endif
  }
}

#if DEBUG
  extension Failpoints {
    /// Does what a plan says; false when the step is to fail.
    private func carryOut(_ actions: [FailpointAction]) async -> Bool {
      state?.strike(actions)
      for case .delay(let milliseconds) in actions {
        do { try await state?.loop.sleep(for: .milliseconds(milliseconds)) } catch {}  // cut short by the end
      }
      return !actions.contains(.error)
    }
  }

  /// What this process's failpoints have seen, and the means to carry them out.
  final class FailpointState: Sendable {
    let loop: EventLoop
    private let plan: Mutex<FailpointPlan>
    private let log: Log

    init(_ plan: FailpointPlan, loop: EventLoop, log: Log) {
      self.plan = Mutex(plan)
      self.loop = loop
      self.log = log
    }

    func reached(_ failpoint: Failpoint, _ jobs: [JobID]) -> [FailpointAction] {
      let actions = plan.withLock { $0.reached(failpoint, jobs: jobs) }
      if !actions.isEmpty {
        log.warning("A failpoint is reached", ["failpoint": .string(failpoint.rawValue)])
      }
      return actions
    }

    /// Does what needs no waiting.
    func strike(_ actions: [FailpointAction]) {
      for action in actions {
        switch action {
        case .kill: kill(getpid(), SIGKILL)
        // To this thread, so that not one more instruction of it runs.
        case .stop: pthread_kill(pthread_self(), SIGSTOP)
        case .crash: abort()
        case .delay, .error: break
        }
      }
    }
  }

  /// Actions that are to be carried out once, by whoever comes first.
  final class PendingActions: Sendable {
    private let actions: Mutex<[FailpointAction]>

    init(_ actions: [FailpointAction]) {
      self.actions = Mutex(actions)
    }

    func take() -> [FailpointAction] {
      actions.withLock { actions in
        defer { actions = [] }
        return actions
      }
    }
  }
#endif
