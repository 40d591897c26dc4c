internal import Clibpq
internal import EventLoop
internal import Synchronization

/// A setting of the server's that a connection's sessions have to have, whatever the role, the database or the server sets.
public struct SessionSetting: Sendable, Hashable {
  /// Its name.
  public let name: String
  /// What it is set to.
  public let value: String
  /// What will do as well.
  public let others: Set<String>

  /// A setting.
  public init(_ name: String, _ value: String, or others: Set<String> = []) {
    self.name = name
    self.value = value
    self.others = others
  }
}

extension Connection {
  /// Sees to it that the session has the settings that it has to have. Where the session is the connection's own they are
  /// set. A pooler's session is not: who has set them otherwise is asked to take it back.
  func settle(until: ContinuousClock.Instant) async throws(PostgreSQLError) {
    let settings = configuration.settings
    guard !settings.isEmpty else { return }
    do throws(PostgreSQLError) {
      let columns = settings.indices.map { ", pg_catalog.current_setting($\($0 + 1))" }.joined()
      let row = try await run(
        SQLStatement(
          """
          SELECT pg_catalog.pg_backend_pid(), pg_catalog.format('%I', current_user),
            pg_catalog.format('%I', pg_catalog.current_database())\(columns)
          """, settings.map { .text($0.name) }, label: "reading the session's settings"),
        ConnectionScope(connection: self), until: until
      ).single()
      let ownsSession = try row.int32(0) == backendPID
      prepared.ownsSession = ownsSession
      for (index, setting) in settings.enumerated() {
        let found = try row.string(index + 3)
        guard found != setting.value, !setting.others.contains(found) else { continue }
        guard ownsSession else {
          throw Self.unfit(setting, found, role: try row.string(1), database: try row.string(2))
        }
        _ = try await run(
          SQLStatement(
            "SELECT pg_catalog.set_config($1, $2, false)", [.text(setting.name), .text(setting.value)],
            label: "setting \(setting.name)"), ConnectionScope(connection: self), until: until)
      }
    } catch {
      close()
      // Nothing of the caller's was sent yet.
      guard error.code == .connectionLost else { throw error }
      var failure = PostgreSQLError(.connectionFailed, "No connection: \(error.message)")
      failure.phase = .interrupted
      failure.sqlState = error.sqlState
      throw failure
    }
  }

  private static func unfit(
    _ setting: SessionSetting, _ found: String, role: String, database: String
  ) -> PostgreSQLError {
    var error = PostgreSQLError(
      .connectionFailed,
      "No connection: \(ConnectionPhase.session). \(setting.name) is \(found) and has to be \(setting.value); through a"
        + " pooler it cannot be set for this program alone.")
    error.phase = .session
    error.hint =
      "See where it is set with analysisctl doctor, on a direct connection; then ALTER ROLE \(role) RESET \(setting.name),"
      + " ALTER DATABASE \(database) RESET \(setting.name), or ALTER ROLE \(role) SET \(setting.name) = '\(setting.value)'."
      + " Then let the pooler connect anew (RECONNECT)."
    return error
  }
}

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

extension Connection {
  /// Listens to a channel. The connection goes on serving other calls.
  ///
  /// The stream ends with the connection. It keeps the newest 256 notifications that have not been taken:
  /// they are hints that something has changed, not the change. Through a pooler in transaction mode
  /// nothing is heard.
  ///
  /// - Throws: Why the server could not be asked.
  public func listen(
    _ channel: String, deadline: Duration? = nil
  ) async throws(PostgreSQLError) -> AsyncStream<Notification> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Notification.self, bufferingPolicy: .bufferingNewest(256))
    let id = nextID()
    continuation.onTermination = { [loop, weak self] _ in
      loop.execute { [weak self] in self?.assumeIsolated { $0.listeners[channel]?[id] = nil } }
    }
    // Before the server is asked, since a notification may follow at once.
    listeners[channel, default: [:]][id] = continuation
    do throws(PostgreSQLError) {
      _ = try await query("LISTEN \(quoted(channel))", deadline: deadline)
    } catch {
      continuation.finish()
      throw error
    }
    return stream
  }

  /// Stops listening to a channel and ends its streams.
  ///
  /// - Throws: Why the server could not be asked; the streams have ended all the same.
  public func unlisten(_ channel: String, deadline: Duration? = nil) async throws(PostgreSQLError) {
    for stream in listeners.removeValue(forKey: channel).map({ Array($0.values) }) ?? [] { stream.finish() }
    _ = try await query("UNLISTEN \(quoted(channel))", deadline: deadline)
  }

  func deliver(_ notification: Notification) {
    for stream in (listeners[notification.channel] ?? [:]).values { stream.yield(notification) }
  }

  private func quoted(_ identifier: String) -> String {
    "\"" + identifier.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }
}

/// What another session sent with NOTIFY.
public struct Notification: Sendable, Equatable {
  /// The channel's name.
  public let channel: String
  /// The text sent with it, empty for none.
  public let payload: String
  /// The sender's server process.
  public let backendPID: Int32

  /// A notification, as the server would send it.
  public init(channel: String, payload: String = "", backendPID: Int32 = 0) {
    self.channel = channel
    self.payload = payload
    self.backendPID = backendPID
  }
}
