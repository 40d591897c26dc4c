import PostgreSQL
import Support

/// Why there is no report.
public struct ReportsError: Error, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: String, Sendable {
    /// PostgreSQL knows no zone of that name.
    case unknownZone
    /// What was asked for is not there, this login does not see it, or it cannot be answered so.
    case refused
    /// The file, or the one beside it, could not be written; nothing is left of it.
    case unwritable
    /// The database was not reached, or the connection was lost: trying again later may do.
    case unreachable
    /// The database refused, or took longer than it was given.
    case database
    /// The stream to which the report went threw, or the task was cancelled.
    case interrupted
    /// The database holds something that this program does not know.
    case schema
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

/// From when until when a period is, each moment with what the clocks of its zone show then.
struct Span: Decodable {
  let starts, ends, startsLocal, endsLocal: Timestamp

  var from: LocalTime { LocalTime(starts, local: startsLocal) }
  var until: LocalTime { LocalTime(ends, local: endsLocal) }
}

extension LocalTime {
  /// A moment and its local time, which the statement answers as if it were UTC.
  init(_ moment: Timestamp, local: Timestamp) {
    self.init(microseconds: moment.microsecondsSince1970, local: local.microsecondsSince1970)
  }
}

extension Timestamp {
  /// The moment in UTC, to the second.
  var rfc3339: String { UnixTime(secondsSince1970: secondsSince1970).rfc3339Seconds }
}

extension ReportsError {
  /// A number in the database for which this program has no meaning.
  static func unknown(_ what: String, _ number: some CustomStringConvertible) -> ReportsError {
    ReportsError(
      .schema, "the database holds a \(what) numbered \(number), which this program does not know",
      advice: "use the release that wrote it, or a later one")
  }
}
