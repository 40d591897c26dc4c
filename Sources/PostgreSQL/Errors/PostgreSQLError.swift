/// Why a call failed. No password, parameter or row value is in it.
public struct PostgreSQLError: Error, Sendable {
  /// The kind of failure.
  public struct Code: Hashable, Sendable {
    enum Value: String {
      case connectionFailed, connectionLost, server, deadlineExceeded, cancelled, closed, aborted
      case commitFailed, misuse, typeMismatch, unexpectedNull, noSuchColumn, unexpectedResult
    }

    let value: Value

    /// No connection could be made; `phase` says how far it came.
    public static let connectionFailed = Code(value: .connectionFailed)
    /// The connection was up and went away.
    public static let connectionLost = Code(value: .connectionLost)
    /// The server refused the statement; `sqlState` says why.
    public static let server = Code(value: .server)
    /// The call's deadline passed.
    public static let deadlineExceeded = Code(value: .deadlineExceeded)
    /// The calling task was cancelled.
    public static let cancelled = Code(value: .cancelled)
    /// The connection or pool was closed by this program.
    public static let closed = Code(value: .closed)
    /// A statement before this one, in the same group of a pipeline, failed; this one was not run.
    public static let aborted = Code(value: .aborted)
    /// COMMIT was answered by a rollback, because a statement of the transaction had failed.
    public static let commitFailed = Code(value: .commitFailed)
    /// The call cannot be made so, or not at this moment.
    public static let misuse = Code(value: .misuse)
    /// A column has another type than the one asked for.
    public static let typeMismatch = Code(value: .typeMismatch)
    /// A column that was read as never NULL is NULL.
    public static let unexpectedNull = Code(value: .unexpectedNull)
    /// The answer has no such column.
    public static let noSuchColumn = Code(value: .noSuchColumn)
    /// The answer has another shape than the call needs.
    public static let unexpectedResult = Code(value: .unexpectedResult)
  }

  /// The kind of failure.
  public let code: Code
  /// What happened, without row values.
  public internal(set) var message: String
  /// How far connecting came; only with `connectionFailed`.
  public internal(set) var phase: ConnectionPhase?
  /// The server's five-character code, where it sent one.
  public internal(set) var sqlState: String?
  /// The server's detail, for the kinds of error in which it cannot hold row values.
  public internal(set) var detail: String?
  /// The server's advice.
  public internal(set) var hint: String?
  /// The violated constraint.
  public internal(set) var constraint: String?
  /// The table the error is about.
  public internal(set) var table: String?
  /// The lines of PL/pgSQL and SQL functions in which it happened.
  public internal(set) var context: String?
  /// What was being done: the statement's label or its first words.
  public internal(set) var statement: String?
  /// Whether the statement was sent and its answer lost: look at the data before repeating it.
  public internal(set) var mayHaveTakenEffect = false

  init(_ code: Code, _ message: String, statement: String? = nil) {
    self.code = code
    self.message = message
    self.statement = statement
  }
}

extension PostgreSQLError: CustomStringConvertible {
  /// One line: what was being done, what happened, the server's code and advice.
  public var description: String {
    var text = statement.map { "\($0): " } ?? ""
    text += message
    if let sqlState { text += " (SQLSTATE \(sqlState))" }
    if let detail { text += " Detail: \(detail)" }
    if let hint { text += " Hint: \(hint)" }
    if mayHaveTakenEffect { text += " The statement may have taken effect." }
    return text
  }
}
