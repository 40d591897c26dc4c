/// Why there is no report.
public struct ReportsError: Error, CustomStringConvertible {
  /// The kinds of failure, which may grow.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case unknownZone, unwritable, unreachable, database, interrupted, schema
    }

    private let kind: Kind

    private init(_ kind: Kind) {
      self.kind = kind
    }

    /// The name of the code.
    public var description: String { kind.rawValue }

    /// PostgreSQL knows no zone of that name.
    public static let unknownZone = Code(.unknownZone)
    /// The file, or the one beside it, could not be written; nothing is left of it.
    public static let unwritable = Code(.unwritable)
    /// The database was not reached, or the connection was lost: trying again later may do.
    public static let unreachable = Code(.unreachable)
    /// The database refused, or took longer than it was given.
    public static let database = Code(.database)
    /// The stream to which the report went threw, or the task was cancelled.
    public static let interrupted = Code(.interrupted)
    /// The database holds something that this program does not know.
    public static let schema = Code(.schema)
  }

  /// The kind of failure.
  public let code: Code
  /// What happened and to what.
  public let message: String
  /// What to do about it, where that is known.
  public let advice: String?
  /// What was thrown beneath.
  public let underlying: (any Error)?

  init(_ code: Code, _ message: String, advice: String? = nil, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.advice = advice
    self.underlying = underlying
  }

  /// The message and the advice.
  public var description: String {
    guard let advice else { return message }
    return "\(message); \(advice)"
  }
}
