public import AnalysisCore
public import PostgreSQL

/// A user whose counter differs from what their jobs say.
public struct UsageDifference: Sendable, Equatable {
  /// The user; `#` and the number when the account is gone.
  public let user: String
  /// The shard.
  public let shard: Int16
  /// The month.
  public let period: Period
  /// The counter.
  public let used: Int
  /// Units of the counter whose refund is pending.
  public let pendingRefunds: Int
  /// Jobs that were analysed.
  public let analysed: Int
  /// Jobs that are not finished.
  public let open: Int

  /// By how much the counter is too high; negative when it is too low.
  public var difference: Int { used - pendingRefunds - analysed - open }
}

/// Recounts usage from the jobs themselves.
public enum Reconciliation {
  /// Compares the counters with the jobs, and answers every difference; none means that they agree.
  ///
  /// It reads all jobs of a month, each shard and month in one statement and so in one snapshot.
  ///
  /// - Parameters:
  ///   - month: the month; nil for all.
  ///   - deadline: how long each statement may take.
  public static func run(
    _ database: ConnectionPool, month: Period? = nil, deadline: Duration = .seconds(600)
  ) async throws(JobQueueError) -> [UsageDifference] {
    let months = try await Statement(
      QueueSQL.text("queue/months.sql"), [], while: "reading the months of the queue"
    ) { rows in
      try rows.map { try $0.period(0) }
    }.run(on: database)
    var differences: [UsageDifference] = []
    for period in months.reversed() where month == nil || month == period {
      for shard in try await ShardDirectory(database).shards() {
        differences += try await statement(shard, period).run(on: database, deadline: deadline)
      }
    }
    return differences
  }

  private static func statement(_ shard: Int16, _ period: Period) -> Statement<[UsageDifference]> {
    Statement(
      QueueSQL.text("queue/reconcile.sql"), [.int16(shard), .int16(period.label)],
      while: "recounting \(period)"
    ) { rows in
      try rows.map {
        UsageDifference(
          user: try $0.string(0), shard: shard, period: period, used: try $0.int(1),
          pendingRefunds: try $0.int(2), analysed: try $0.int(3), open: try $0.int(4))
      }
    }
  }
}
