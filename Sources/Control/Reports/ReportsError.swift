import PostgreSQL

/// Why there is no report.
public struct ReportsError: Error, CustomStringConvertible {
  /// The kinds of failure, which may grow.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case unknownZone, refused, unwritable, unreachable, database, interrupted, schema
    }

    private let kind: Kind

    private init(_ kind: Kind) {
      self.kind = kind
    }

    /// The name of the code.
    public var description: String { kind.rawValue }

    /// PostgreSQL knows no zone of that name.
    static let unknownZone = Code(.unknownZone)
    /// What was asked for is not there, this login does not see it, or it cannot be answered so.
    public static let refused = Code(.refused)
    /// The file, or the one beside it, could not be written; nothing is left of it.
    static let unwritable = Code(.unwritable)
    /// The database was not reached, or the connection was lost: trying again later may do.
    static let unreachable = Code(.unreachable)
    /// The database refused, or took longer than it was given.
    public static let database = Code(.database)
    /// The stream to which the report went threw, or the task was cancelled.
    static let interrupted = Code(.interrupted)
    /// The database holds something that this program does not know.
    static let schema = Code(.schema)
  }

  /// The kind of failure.
  public let code: Code
  /// What happened and to what.
  public let message: String
  /// What to do about it, where that is known.
  let advice: String?
  /// What was thrown beneath.
  let underlying: (any Error)?

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

extension ReportsError {
  /// Any error as one of this module's, which are left as they are.
  init(wrapping error: any Error, timeout: Duration) {
    switch error {
    case let error as ReportsError: self = error
    case let error as PostgreSQLError: self.init(error, timeout: timeout)
    case let error as UnknownValue: self = .unknown(error.what, error.value)
    default: self.init(interruptedBy: error)
    }
  }

  /// The stream threw, or the task was cancelled.
  init(interruptedBy error: any Error) {
    let cause = error is CancellationError ? "it was cancelled" : "\(error)"
    self.init(.interrupted, "the report was broken off: \(cause)", underlying: error)
  }

  private init(_ error: PostgreSQLError, timeout: Duration) {
    switch error.sqlState {
    case _ where error.code == .deadlineExceeded, "57014":  // query_canceled: by statement_timeout
      self.init(
        .database, "the report took longer than \(timeout)", advice: "allow it more time, or ask a replica",
        underlying: error)
    case _ where error.code == .cancelled:
      self.init(interruptedBy: CancellationError())
    case _ where error.isSchemaLacking:
      self.init(
        .schema, "the database has no schema for reports: \(error)", advice: "run `analysisctl migrate`",
        underlying: error)
    case _ where error.isPermissionDenied:
      self.init(
        .database,
        error.hint == nil ? "the login lacks a role of the database for this report" : error.message,
        advice: error.hint ?? "see which it needs with analysisctl roles check", underlying: error)
    case "22023":  // invalid_parameter_value: raised by the schema's own functions
      self.init(.refused, error.message, advice: error.hint, underlying: error)
    case _ where error.isReadOnlyServer:
      self.init(
        .unreachable,
        "who reads this is recorded first, and the database takes no changes (a standby)",
        advice:
          "name all servers as host=a,b and add target_session_attrs=read-write",
        underlying: error)
    default:
      self.init(
        error.isConnectionLoss ? .unreachable : .database, "the report could not be read: \(error)",
        underlying: error)
    }
  }
}
