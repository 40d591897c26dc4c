import PostgreSQL
import Queue

/// How the queue was in one part of a time that is over; nil where nothing is known of it, since no worker lived.
struct QueuePast: Sendable, Equatable {
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
      SQLFunction(
        "queue_past", 2, "o_at", "o_waiting", "o_in_flight", "o_done", "o_dead", "o_retried"),
      [.int32(seconds), .int32(parts)], while: "reading how the queue was"
    ) { rows in
      try rows.map { row in
        QueuePast(
          at: try row.seconds("o_at"), waiting: try row.doubleIfPresent("o_waiting"),
          inFlight: try row.doubleIfPresent("o_in_flight"), done: try row.doubleIfPresent("o_done"),
          dead: try row.doubleIfPresent("o_dead"), retried: try row.doubleIfPresent("o_retried"))
      }
    }.run(on: database)
  }
}
