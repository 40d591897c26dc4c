internal import Clibpq
import Support

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

extension PostgreSQLError {
  /// The server's own error, redacted.
  init(_ result: ServerResult, statement: String?) {
    let pointer = result.pointer
    func field(_ text: UnsafePointer<CChar>?) -> String? { text.map { String(cString: $0) } }
    guard let sqlState = field(pq_diag_sqlstate(pointer)) else {
      // libpq's own message; it has a SQLSTATE for nothing of its own making.
      let text = field(PQresultErrorMessage(pointer)) ?? ""
      self.init(.server, Redaction.withoutQuoted(text.trimmed), statement: statement)
      return
    }
    let primary = field(pq_diag_message(pointer)) ?? "The server refused the statement."
    self.init(.server, ServerText.message(primary, sqlState: sqlState), statement: statement)
    self.sqlState = sqlState
    detail = ServerText.detail(field(pq_diag_detail(pointer)), sqlState: sqlState)
    hint = field(pq_diag_hint(pointer))
    constraint = field(pq_diag_constraint(pointer))
    table = field(pq_diag_table(pointer))
    context = ServerText.context(field(pq_diag_context(pointer)))
  }
}

extension String {
  /// Without white space at either end, and in one line.
  var trimmed: String {
    split(whereSeparator: \.isNewline)
      .map { line in
        let start = line.drop(while: \.isWhitespace)
        return String(start.reversed().drop(while: \.isWhitespace).reversed())
      }
      .filter { !$0.isEmpty }
      .joined(separator: " ")
  }
}

extension PostgreSQLError {
  /// The server's last message as the reason of the connection's loss.
  var asLoss: PostgreSQLError {
    var loss = PostgreSQLError(.connectionLost, message)
    loss.sqlState = sqlState
    return loss
  }
}

extension PostgreSQLError {
  /// Whether there is no connection (any more).
  public var isConnectionLoss: Bool {
    code == .connectionFailed || code == .connectionLost
  }

  /// Whether the same call may succeed later without anybody changing anything: the connection went
  /// away, a deadline passed, or the server was short of something or resolved a conflict against us.
  public var isTransient: Bool {
    if code == .connectionFailed { return phase?.isTransient ?? true }
    if code == .connectionLost || code == .deadlineExceeded { return true }
    guard let sqlState else { return false }
    switch sqlState.prefix(2) {
    case "08", "40", "53", "58": return true
    default: return sqlState == "55P03" || sqlState.hasPrefix("57P") || sqlState == "57014"
    }
  }

  /// Whether the server takes no changes at present: a standby, or one that was made read-only.
  public var isReadOnlyServer: Bool { sqlState == "25006" }

  /// Whether the server broke a reading off that may be begun anew elsewhere: the connection is gone, or a standby had to go
  /// on with its log.
  public var isBrokenOff: Bool { isConnectionLoss || sqlState?.hasPrefix("40") == true }

  /// Whether the role lacks the right to it, or a function of the schema refuses the role.
  public var isPermissionDenied: Bool { sqlState == Self.permissionDenied }

  /// Whether the schema lacks what was asked for: itself, a table, a function or a column.
  public var isSchemaLacking: Bool {
    switch sqlState {
    case "3F000", "42P01", "42883", "42703": true
    default: false
    }
  }

  static let permissionDenied = "42501"

  /// Whether the server refused the data given: SQLSTATE class 22 (a value it cannot take) or 23 (a
  /// constraint).
  public var isDataError: Bool {
    guard let sqlState else { return false }
    return sqlState.hasPrefix("22") || sqlState.hasPrefix("23")
  }
}

/// What may be kept of the server's and libpq's own messages.
enum ServerText {
  /// SQLSTATE classes whose detail speaks of objects, locks and resources, never of row values.
  private static let detailClasses: Set<Substring> = [
    "0A", "25", "2B", "3D", "3F", "40", "42", "53", "54", "55", "57", "58",
  ]

  /// A server's primary message; class 22 quotes the value it could not take.
  static func message(_ text: String, sqlState: String) -> String {
    sqlState.hasPrefix("22") ? Redaction.withoutQuoted(text) : text
  }

  /// A server's detail, or nil where it may hold row values ("Key (email)=(…) already exists").
  static func detail(_ text: String?, sqlState: String) -> String? {
    detailClasses.contains(sqlState.prefix(2)) ? text : nil
  }

  /// The lines of a context that name functions; COPY's lines quote the data.
  static func context(_ text: String?) -> String? {
    guard let text else { return nil }
    let lines = text.split(separator: "\n").filter {
      $0.hasPrefix("PL/pgSQL function") || $0.hasPrefix("SQL function")
    }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  /// The first words of a statement, enough to find it by; literals, and what comes after, are left out.
  static func label(_ sql: String) -> String {
    var words: [Substring] = []
    var length = 0
    for line in sql.split(separator: "\n", maxSplits: 64) {
      let code = line.split(separator: "--", maxSplits: 1, omittingEmptySubsequences: false).first ?? line
      for word in code.split(whereSeparator: \.isWhitespace) {
        if word.contains("'") || word.contains("$$") || words.count == 8 || length > 60 {
          return words.joined(separator: " ") + " …"
        }
        words.append(word)
        length += word.count + 1
      }
    }
    return words.joined(separator: " ")
  }
}
