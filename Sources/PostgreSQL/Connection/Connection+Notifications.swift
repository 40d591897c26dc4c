internal import EventLoop

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
