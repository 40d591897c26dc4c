#if DEBUG
  internal import Support
  internal import EventLoop
  internal import Glibc
  internal import Synchronization

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
