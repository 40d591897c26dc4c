import PostgreSQL
import Queue

/// How the queue was in one part of a time that is over; nil where nothing is known of it, since no worker lived.
struct QueuePast: Sendable, Equatable, Decodable {
  /// The end of the part, in seconds since 1970.
  let at: Double
  /// Jobs that waited, on the average.
  let waiting: Double?
  /// Jobs in workers' hands, on the average.
  let inFlight: Double?
  /// Results stored a second.
  let done: Double?
  /// Jobs that died, a second.
  let dead: Double?
  /// Attempts that were to be made again, a second.
  let retried: Double?

  /// Reads parts of equal length until now, the oldest first.
  ///
  /// - Parameters:
  ///   - seconds: how far back; two days at most.
  ///   - parts: how many; 200 at most.
  static func read(
    _ database: ConnectionPool, seconds: Int32, parts: Int32
  ) async throws(JobQueueError) -> [QueuePast] {
    try await Statement(
      SQLFunction("queue_past", 2), [.int32(seconds), .int32(parts)], as: [QueuePast].self,
      while: "reading how the queue was"
    ).run(on: database)
  }
}
