/// A moment in a worker's life at which a debug build can be made to die, freeze, wait or fail.
///
/// Each is an edge of a crash window: what the database, the endpoint and the worker know of a job differs
/// from one to the next.
public enum Failpoint: String, Sendable, CaseIterable {
  /// A claim is about to be sent; nothing is held by it.
  case beforeClaim = "before-claim"
  /// A claim is under way: the server may have leased jobs that this worker will never hear of.
  case claimSent = "claim-sent"
  /// A claim's answer has come and has not been taken in: its jobs are leased, this worker knows of none.
  case claimAnswered = "claim-answered"
  /// The claimed jobs have been taken in; none has been called for.
  case afterClaim = "after-claim"
  /// Images are about to be asked for.
  case beforeImageRead = "before-image-read"
  /// One image has come and has not been taken in.
  case afterImageRead = "after-image-read"
  /// A call is about to begin.
  case beforeUpload = "before-upload"
  /// A call's body is being sent.
  case duringUpload = "during-upload"
  /// A call has ended and its answer has been decoded; the worker has not taken note of it.
  case afterAnswer = "after-answer"
  /// The worker has taken note of an answer; its outcome waits to be stored.
  case afterOutcome = "after-outcome"
  /// Outcomes are about to be stored.
  case beforeStore = "before-store"
  /// Outcomes are being stored: the server may have committed them or not.
  case storeSent = "store-sent"
  /// The outcomes are stored; the worker has not taken note of it.
  case storeAnswered = "store-answered"
  /// The outcomes are stored and the worker has taken note of it.
  case afterStore = "after-store"
  /// Jobs are about to be released, mostly because the worker stops.
  case beforeRelease = "before-release"
  /// Jobs have been released; the worker has not taken note of it.
  case releaseAnswered = "hand-back-answered"
  /// A sign of life is about to be sent.
  case beforeHeartbeat = "before-heartbeat"
  /// A sign of life has been answered; the worker has not taken note of it.
  case afterHeartbeat = "after-heartbeat"
}

#if DEBUG
  /// What happens at a failpoint.
  enum FailpointAction: Sendable, Equatable {
    /// The process gets SIGKILL.
    case kill
    /// The process gets SIGSTOP and goes on when it gets SIGCONT.
    case stop
    /// The process aborts, as a broken image may make it.
    case crash
    /// The task waits; all others go on.
    case delay(milliseconds: Int)
    /// The step fails as if the database could not be reached; after an answer, the answer is lost.
    case error
  }

  extension Failpoint {
    /// Whether the worker knows there which jobs it is about.
    var knowsJobs: Bool {
      switch self {
      case .beforeClaim, .claimSent, .beforeHeartbeat, .afterHeartbeat: false
      default: true
      }
    }

    /// Whether an action makes sense there: in the midst of a call or a statement nothing can wait, and only
    /// what asks the database can fail by it.
    func allows(_ action: FailpointAction) -> Bool {
      switch action {
      case .kill, .stop, .crash: true
      case .delay: ![.claimSent, .duringUpload, .storeSent].contains(self)
      case .error:
        ![
          .claimSent, .afterClaim, .beforeUpload, .duringUpload, .afterAnswer, .afterOutcome, .storeSent,
          .afterStore,
        ]
        .contains(self)
      }
    }
  }
#endif
