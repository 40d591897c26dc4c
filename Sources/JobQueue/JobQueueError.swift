import PostgreSQL

/// What went wrong between this process and the queue's database, worded for the person who reads it.
///
/// It never holds image bytes, names, e-mail addresses or secrets; a user is named by reference only.
public struct JobQueueError: Error, Sendable {
  /// What kind of failure it is.
  public let code: Code
  /// What happened, and to what; one sentence.
  public let message: String
  /// What to do about it; nil when there is nothing to say.
  public let advice: String?
  /// The error of the layer below; nil when this module found the fault itself.
  public let underlying: (any Error)?

  /// An error with its words.
  public init(_ code: Code, _ message: String, advice: String? = nil, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.advice = advice
    self.underlying = underlying
  }

  /// Whether the same call may succeed later without anybody's doing.
  public var isTemporary: Bool {
    code == .unreachable || code == .deadline || code == .conflict
  }

  /// Whether there was no connection, or it went away: not a fault of what was asked.
  public var isConnectionLoss: Bool {
    code == .unreachable && (underlying as? PostgreSQLError)?.isConnectionLoss ?? true
  }

  /// Whether one of the rows that were given or asked for is the cause, so that the others may fare better
  /// without it: the database refuses a value, or cannot read what it has stored.
  public var isOfRow: Bool {
    if code == .badRow { return true }
    guard !isConnectionLoss, let state = (underlying as? PostgreSQLError)?.sqlState else { return false }
    // 58030: a block that the disk does not give; 54: too large; P0: an exception of a function; XX: damage.
    return state == "58030" || ["54", "P0", "XX"].contains(state.prefix(2))
  }

  /// Whether the server has no room left, which passes only by somebody's doing.
  var isVolumeFull: Bool { (underlying as? PostgreSQLError)?.sqlState == "53100" }
}

extension JobQueueError {
  /// The kinds of failure; more may come.
  public struct Code: Sendable, Hashable {
    private enum Kind {
      case unreachable, deadline, conflict, cancelled, outcomeUnknown
      case schemaMissing, schemaTooOld, schemaTooNew, migrationEdited, migrationGap, migrationUnknown
      case notFound, invalid, permission, badRow, server, unexpectedAnswer
    }

    private let kind: Kind

    /// The server could not be reached, or went away.
    public static let unreachable = Code(kind: .unreachable)
    /// The call's deadline passed.
    public static let deadline = Code(kind: .deadline)
    /// The server ended the call because of others: a deadlock, a serialisation failure, a lock.
    public static let conflict = Code(kind: .conflict)
    /// The caller's task was cancelled.
    public static let cancelled = Code(kind: .cancelled)
    /// The connection went while a submit ran, and it cannot be told whether it was stored.
    public static let outcomeUnknown = Code(kind: .outcomeUnknown)
    /// The database has no schema yet.
    public static let schemaMissing = Code(kind: .schemaMissing)
    /// The database's schema is too old for this program.
    public static let schemaTooOld = Code(kind: .schemaTooOld)
    /// The database's schema is too new for this program.
    public static let schemaTooNew = Code(kind: .schemaTooNew)
    /// A migration was edited after it had been applied.
    public static let migrationEdited = Code(kind: .migrationEdited)
    /// A number is missing between the applied or the known migrations.
    public static let migrationGap = Code(kind: .migrationGap)
    /// The database has a migration that this program does not know.
    public static let migrationUnknown = Code(kind: .migrationUnknown)
    /// There is no such user, plan or job.
    public static let notFound = Code(kind: .notFound)
    /// The request itself is wrong.
    public static let invalid = Code(kind: .invalid)
    /// The database role may not do this.
    public static let permission = Code(kind: .permission)
    /// A value was refused by the database (SQLSTATE class 22 or 23).
    public static let badRow = Code(kind: .badRow)
    /// Any other error of the server.
    public static let server = Code(kind: .server)
    /// The database answered with something that this program does not understand.
    public static let unexpectedAnswer = Code(kind: .unexpectedAnswer)
  }
}

extension JobQueueError: CustomStringConvertible {
  /// The message and the advice.
  public var description: String {
    guard let advice else { return message }
    return "\(message) \(advice)"
  }
}
