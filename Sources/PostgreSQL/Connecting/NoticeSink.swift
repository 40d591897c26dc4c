internal import Clibpq
internal import Synchronization

/// Where libpq delivers what the server says unasked; without a receiver it would print it on stderr.
final class NoticeSink: Sendable {
  private let handler: (@Sendable (Notice) -> Void)?
  private let fatal = Mutex<PostgreSQLError?>(nil)
  private let warned = Mutex(0)

  init(_ handler: (@Sendable (Notice) -> Void)?) {
    self.handler = handler
  }

  /// The server's reason for ending the connection, if it gave one.
  var lastMessage: PostgreSQLError? { fatal.withLock { $0 } }

  /// How many warnings have come.
  var warnings: Int { warned.withLock { $0 } }

  /// Has libpq call this object, which the caller keeps alive as long as the connection.
  func install(on connection: OpaquePointer) {
    PQsetNoticeReceiver(
      connection,
      { context, result in
        guard let context, let result else { return }
        Unmanaged<NoticeSink>.fromOpaque(context).takeUnretainedValue().receive(result)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// The result belongs to libpq, which frees it after this call.
  private func receive(_ result: OpaquePointer) {
    let severity = pq_diag_severity(result).map { String(cString: $0) } ?? ""
    let sqlState = pq_diag_sqlstate(result).map { String(cString: $0) } ?? "00000"
    let text = pq_diag_message(result).map { String(cString: $0) } ?? ""
    let message = ServerText.message(text, sqlState: sqlState)
    if severity == "FATAL" || severity == "PANIC" {
      var error = PostgreSQLError(.connectionLost, message)
      error.sqlState = sqlState
      // It comes so while nothing is being asked; the answer to a statement is a result.
      fatal.withLock { $0 = error }
    } else {
      if severity == "WARNING" { warned.withLock { $0 += 1 } }
      handler?(Notice(severity: severity, sqlState: sqlState, message: message))
    }
  }
}
