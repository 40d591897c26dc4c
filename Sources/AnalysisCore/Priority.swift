/// How soon a job is wanted, compared with other jobs of its kind.
public enum Priority: String, Sendable, CaseIterable, Codable {
  /// Before all others.
  case urgent
  /// What a submit gets that says nothing.
  case normal
  /// Behind the others, with a small share of its own so that it is never starved.
  case bulk

  /// The priority's place in a lane's number.
  public var slot: Int16 {
    switch self {
    case .urgent: 0
    case .normal: 1
    case .bulk: 2
    }
  }
}
