import PostgreSQL
import Queue

/// What metrics show beside the status: sums over all users, which change slowly and cost more than the
/// status does. Ask once a minute at most.
struct QueueTotals: Sendable, Equatable {
  /// Submits that the limits of the present month have refused; it begins anew with each month.
  let refusedByMonthLimit: Int
  /// When the last month's statement was closed, in seconds since 1970; nil before the first.
  let lastStatementAt: Double?
  /// Webhooks that are switched off.
  let webhooksOff: Int
  /// Jobs that are dead, by the class of their failure.
  let dead: [String: Int]
  /// How many bytes the database may have before submits are refused; nil without a limit.
  let databaseLimit: Int64?

  /// How many statements `read` takes.
  static let statements = 3
  /// How many causes of deaths are looked at.
  private static let mostCauses: Int32 = 1000
  private static let deadline: Duration = .seconds(10)

  static func read(_ database: ConnectionPool) async throws(JobQueueError) -> QueueTotals {
    struct Month: Decodable {
      let refused, webhooksOff: Int
      let closedAt: Double?
    }
    struct Cause: Decodable {
      let `class`: String
      let count: Int
    }
    let month = try await Statement(
      SQLFunction("month_totals", 0), as: Month.self, while: "reading the month's totals"
    ).run(on: database, deadline: deadline)
    let causes = try await Statement(
      SQLFunction("dead_causes", 2), [.timestamp(Timestamp(secondsSince1970: 0)), .int32(mostCauses)],
      as: [Cause].self, while: "reading why jobs died"
    ).run(on: database, deadline: deadline)
    let settings = try await SettingDirectory(database).list()
    return QueueTotals(
      refusedByMonthLimit: month.refused, lastStatementAt: month.closedAt, webhooksOff: month.webhooksOff,
      dead: Dictionary(causes.map { ($0.class, $0.count) }, uniquingKeysWith: +),
      databaseLimit: settings.first { $0.name == "max_database_bytes" }.flatMap { Int64($0.value) })
  }
}

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
