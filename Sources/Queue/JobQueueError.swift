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

  /// An error with its message.
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
  /// The kinds of failure.
  public enum Code: Sendable {
    /// The server could not be reached, or went away.
    case unreachable
    /// The call's deadline passed.
    case deadline
    /// The server ended the call because of others: a deadlock, a serialisation failure, a lock.
    case conflict
    /// The caller's task was cancelled.
    case cancelled
    /// The connection went while a submit ran, and it cannot be told whether it was stored.
    case outcomeUnknown
    /// The database has no schema yet.
    case schemaMissing
    /// The database's schema is too old for this program.
    case schemaTooOld
    /// The database's schema is too new for this program.
    case schemaTooNew
    /// A migration was edited after it had been applied.
    case migrationEdited
    /// A number is missing between the applied or the known migrations.
    case migrationGap
    /// The database has a migration that this program does not know.
    case migrationUnknown
    /// There is no such user, plan or job.
    case notFound
    /// The request itself is wrong.
    case invalid
    /// The database role may not do this.
    case permission
    /// A value was refused by the database (SQLSTATE class 22 or 23).
    case badRow
    /// Any other error of the server.
    case server
    /// The database answered with something that this program does not understand.
    case unexpectedAnswer
  }
}

extension JobQueueError: CustomStringConvertible {
  /// The message and the advice.
  public var description: String {
    guard let advice else { return message }
    return "\(message) \(advice)"
  }
}

extension JobQueueError {
  /// An error of the layer below, with what was being done in the form "submitting jobs".
  package init(_ error: any Error, while doing: String) {
    if let error = error as? JobQueueError {
      self = error
    } else if let error = error as? PostgreSQLError {
      self.init(postgreSQL: error, while: doing)
    } else if let error = error as? UnknownValue {
      self.init(
        .unexpectedAnswer,
        "The database named a \(error.what) that this program does not know: \(error.value).",
        advice: "Use the program's version that belongs to the schema.")
    } else if error is CancellationError {
      self.init(.cancelled, "Cancelled while \(doing).", underlying: error)
    } else {
      self.init(.server, "Failed while \(doing): \(error).", underlying: error)
    }
  }

  private init(postgreSQL error: PostgreSQLError, while doing: String) {
    let (code, what, advice) = Self.parts(error)
    guard !error.lacksRole else {
      // The server names a function or a table, which helps nobody: the role is named by whoever knows the command.
      self.init(code, "\(what) while \(doing).", advice: advice, underlying: error)
      return
    }
    self.init(code, "\(what) while \(doing): \(error.message)", advice: advice, underlying: error)
  }

  /// What to look at when no connection could be made.
  private static func advice(_ error: PostgreSQLError) -> String {
    if let hint = error.hint { return hint }
    return switch error.phase {
    case .some(.configuration): "Mend the connection settings (--database, or PG* variables and their files)."
    case .some(.passwordFile): "Only its owner may be able to read a password file."
    case .some(.authentication): "Check the role, its password file and the server's pg_hba.conf."
    case .some(.databaseMissing): "Check the database's name (PGDATABASE), or make it with createdb."
    case .some(.tls): "Check the certificates and PGSSLMODE."
    case .some(.proof): LocalProof.advice
    default: "Check that it runs and how to reach it (PGHOST and the like)."
    }
  }

  private static func parts(_ error: PostgreSQLError) -> (Code, String, String?) {
    if error.code == .deadlineExceeded {
      return (.deadline, "The database did not answer in time", "Try again; see whether it is overloaded.")
    }
    if error.code == .cancelled { return (.cancelled, "Cancelled", nil) }
    if error.isConnectionLoss || error.code == .closed {
      return (.unreachable, "The database could not be reached", advice(error))
    }
    guard let state = error.sqlState else {
      return (
        .unexpectedAnswer, "The database's answer was not understood",
        "Check that the schema and this program belong together: analysisctl migrate."
      )
    }
    switch state {
    case _ where error.isPermissionDenied:
      // Where the schema itself refuses, it says what is to be done.
      return (
        .permission, "The login lacks a role of the database",
        error.hint ?? "See which it needs with analysisctl roles check."
      )
    case _ where error.isSchemaLacking:
      return (.schemaMissing, "The database lacks a part of the schema", "Run analysisctl migrate.")
    case _ where error.isReadOnlyServer:
      return (
        .unreachable, "The database takes no changes (it is a standby, or was made read-only)",
        "Connect to the primary: name all servers as host=a,b and add target_session_attrs=read-write."
      )
    case "55P03":
      return (.conflict, "The database was busy with the same rows", "Try again.")
    case "57014":
      return (
        .conflict, "The database ended the call",
        "Try again; if it happens again, see statement_timeout and who cancels."
      )
    case "53400":
      return (.conflict, "A limit of the database was reached", error.hint ?? "Try again later.")
    case "53100":
      return (
        .unreachable, "The database's volume is full",
        "Make room on it, then do the same again; nothing was stored."
      )
    default:
      break
    }
    switch state.prefix(2) {
    case "22", "23": return (.badRow, "The database refused a value", error.hint)
    case "40": return (.conflict, "The database ended the call in favour of another", "Try again.")
    case "08", "53", "57", "58":
      return (.unreachable, "The database is not able to work", "Try later; see the database's log.")
    default: return (.server, "The database reported an error (\(state))", nil)
    }
  }
}
