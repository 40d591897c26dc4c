internal import EventLoop
public import PostgreSQL

/// The channels on which is said that something has happened in the queue. What is heard there is a hint to look at
/// once: anybody who may connect can send it, and nothing is lost with one that is not heard.
public enum QueueChannel: String, Sendable, CaseIterable {
  /// Jobs were submitted; the text is their shard.
  case jobs = "analysis_jobs"
  /// Jobs have ended; sent by workers with `--notify-ended`.
  case ended = "analysis_ended"
}

extension Connection {
  /// Whether the server's process is the one that the connection was promised. A pooler promises a number of its
  /// own, and what listens there is a connection that others get next.
  public func isDirect() async throws(PostgreSQLError) -> Bool {
    try await query(.serverProcess).single().int32(0) == backendPID
  }
}
