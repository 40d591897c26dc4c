extension Log {
  /// How much an event matters.
  public enum Level: String, Sendable, CaseIterable, Comparable {
    /// Every step, for a developer.
    case trace
    /// What helps to find a fault.
    case debug
    /// What the program does.
    case info
    /// What an operator would want to know.
    case notice
    /// Something that may need care soon.
    case warning
    /// Something that failed.
    case error

    /// The less important first.
    public static func < (left: Level, right: Level) -> Bool {
      left.rank < right.rank
    }

    private var rank: Int {
      switch self {
      case .trace: 0
      case .debug: 1
      case .info: 2
      case .notice: 3
      case .warning: 4
      case .error: 5
      }
    }

    /// The terminal's colour number.
    var colour: Int {
      switch self {
      case .trace, .debug: 2
      case .info, .notice: 36
      case .warning: 33
      case .error: 31
      }
    }
  }
}
