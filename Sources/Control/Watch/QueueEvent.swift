import PostgreSQL
import Queue
import Support

/// Something that has happened in the queue.
struct QueueEvent: Sendable, Equatable, RenamedColumns {
  static let columns = [
    "kind": "event", "callMilliseconds": "callMs", "subject": "class", "name": "code",
  ]

  /// What can happen, in the order in which it happens to a job.
  enum Kind: String, Sendable, CaseIterable, ColumnValue {
    /// A job is new.
    case submitted
    /// Cancelled or dead before, it was queued again by somebody.
    case requeued
    /// A worker has taken it for an attempt.
    case started
    /// An attempt failed and is made again.
    case retried
    /// It is analysed.
    case done
    /// It died.
    case dead
    /// It was cancelled.
    case cancelled
    /// Something was refused that has no job.
    case refused
    /// An operator has paused something.
    case paused
    /// A pause has ended.
    case resumed
    /// More has happened than can be shown.
    case leftOut = "left_out"

    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// What happened.
  let kind: Kind
  /// When, by the server's clock, in seconds since 1970; of what has no time of its own, when it was seen.
  let at: Double
  /// The job that it happened to.
  var job: JobID?
  /// Whose job it is.
  var user: String?
  /// The job's lane.
  var lane: Lane?
  /// The batch.
  var batch: BatchID?
  /// What the submitter calls the job.
  var reference: String?
  /// The file that it was submitted from.
  var file: String?
  /// Which attempt it was.
  var attempt: Int?
  /// How long the call took that brought the result.
  var callMilliseconds: Int?
  /// The class of a failure; what was paused ("all", "type" or "endpoint"); the event that was left out.
  var subject: String?
  /// The endpoint's code of a failure; the name of what was paused.
  var name: String?
  /// What went wrong, or why it was paused.
  var message: String?
  /// The login that did it.
  var by: String?
  /// How many were refused or left out.
  var count: Int?

  /// Something that happened at a time.
  init(_ kind: Kind, at: Double) {
    (self.kind, self.at) = (kind, at)
  }
}
