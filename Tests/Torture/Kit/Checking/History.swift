import Support
import Synchronization

/// One submit of one job, as whoever submitted it saw it.
struct SubmitRecord: Sendable, Equatable {
  /// What whoever submitted knows of it.
  enum Outcome: Sendable, Equatable {
    /// The database answered that it is a new job.
    case created(JobID)
    /// The database answered with the job that the same key had given before.
    case duplicate(JobID)
    /// The database answered that it takes nothing, and why.
    case refused(String)
    /// No answer came: it may be there or not.
    case unknown
  }

  /// Found again in the job that it made; no two records have the same.
  let tag: String
  let user: String
  /// The idempotency key; several records of a user may have the same.
  let key: String?
  let outcome: Outcome

  /// The job that was acknowledged.
  var job: JobID? {
    switch outcome {
    case .created(let job), .duplicate(let job): job
    case .refused, .unknown: nil
    }
  }
}

/// What all who submit have seen, in no particular order.
final class History: Sendable {
  private let state = Mutex<[SubmitRecord]>([])

  /// What was written down so far.
  var records: [SubmitRecord] { state.withLock { $0 } }

  /// How much.
  var count: Int { state.withLock { $0.count } }

  /// The jobs of the last records that have one.
  func latestJobs(_ count: Int) -> [JobID] { state.withLock { $0.suffix(count).compactMap(\.job) } }

  func add(_ records: [SubmitRecord]) {
    state.withLock { $0 += records }
  }
}
