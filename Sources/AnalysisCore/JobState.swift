/// Where a job is on its way.
public enum JobState: String, Sendable, CaseIterable, Codable {
  /// Ready to be claimed.
  case waiting
  /// To run at a later time: submitted for it, or to be tried again.
  case scheduled
  /// In a worker's lease.
  case running
  /// Its result is stored.
  case succeeded
  /// It died; its quota unit was given back.
  case dead
  /// It was cancelled; its quota unit was given back.
  case cancelled

  /// Whether nothing more happens to the job by itself.
  public var isTerminal: Bool {
    switch self {
    case .waiting, .scheduled, .running: false
    case .succeeded, .dead, .cancelled: true
    }
  }
}
