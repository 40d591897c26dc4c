/// One of the queue's lines: a type of analysis and a priority, or a type's quarantine.
///
/// Quarantined jobs are jobs that were twice in a lease whose worker was lost. They run one at a time in a
/// process, so that a job that kills its worker consumes only its own attempts.
public struct Lane: Hashable, Sendable {
  /// The lane's number in the database: four for each type.
  public let code: Int16

  /// The lane of a type and a priority.
  public init(_ kind: AnalysisKind, _ priority: Priority) {
    code = kind.code * 4 + priority.slot
  }

  /// The lane in which a type's quarantined jobs run.
  public static func quarantine(of kind: AnalysisKind) -> Lane {
    Lane(uncheckedCode: kind.code * 4 + 3)
  }

  /// Every lane of a type.
  public static func all(of kind: AnalysisKind) -> [Lane] {
    Priority.allCases.map { Lane(kind, $0) } + [.quarantine(of: kind)]
  }

  /// The lane with a number of the database; nil when its type is unknown.
  public init?(code: Int16) {
    guard code >= 0, AnalysisKind(code: code / 4) != nil else { return nil }
    self.code = code
  }

  private init(uncheckedCode: Int16) {
    code = uncheckedCode
  }

  /// The type whose jobs wait here.
  public var kind: AnalysisKind? { AnalysisKind(code: code / 4) }

  /// The priority; nil for the quarantine lane.
  public var priority: Priority? { Priority.allCases.first { $0.slot == code % 4 } }

  /// Whether jobs here run one at a time in a process.
  public var isQuarantine: Bool { code % 4 == 3 }
}

extension Lane: CustomStringConvertible {
  /// For instance `throat/urgent` or `ear/quarantine`.
  public var description: String {
    "\(kind?.rawValue ?? "unknown")/\(priority?.rawValue ?? "quarantine")"
  }
}

/// How soon a job is wanted, compared with other jobs of its type.
public enum Priority: String, Sendable, CaseIterable, Codable {
  /// Before all others.
  case urgent
  /// What a submit gets that says nothing.
  case normal
  /// Behind the others, with a small share of its own so that it is never starved.
  case bulk

  /// The priority's position in a lane's number.
  public var slot: Int16 {
    switch self {
    case .urgent: 0
    case .normal: 1
    case .bulk: 2
    }
  }
}
