public import AnalysisCore

/// What became of one submission.
public enum SubmitOutcome: Sendable, Equatable {
  /// A new job, and the month in which it counts.
  case created(JobID, Period)
  /// The job that the same key gave before.
  case duplicate(JobID)
  /// Nothing was stored and nothing counted.
  case refused(Refusal)

  /// The job; nil when there is none.
  public var job: JobID? {
    switch self {
    case .created(let job, _), .duplicate(let job): job
    case .refused: nil
    }
  }
}
