import AnalysisCore

/// What became of one image.
struct SubmitResult: Sendable, Equatable {
  enum Outcome: Sendable, Equatable {
    /// A new job, and the month in which it counts.
    case created(JobID, Period)
    /// The job that the same key gave before.
    case duplicate(JobID)
    case refused(ItemRefusal)
    /// Its turn did not come: the command was interrupted, or the database went away.
    case notReached
  }

  let name: String
  let user: String?
  let kind: AnalysisKind?
  let priority: Priority
  let key: String
  let outcome: Outcome
  /// Where the job was at the end of the waiting; nil when nobody waited.
  var state: JobState?
  /// Whether its image was scaled to fewer pixels than the endpoint's models see.
  var isBelowModelSide = false

  init(_ item: SubmitItem, _ outcome: Outcome) {
    name = item.name
    user = item.user
    kind = item.kind
    priority = item.priority
    key = item.key
    self.outcome = outcome
  }

  /// The job; nil when there is none.
  var job: JobID? {
    switch outcome {
    case .created(let job, _), .duplicate(let job): job
    case .refused, .notReached: nil
    }
  }
}
