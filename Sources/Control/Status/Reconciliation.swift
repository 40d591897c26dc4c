public import PostgreSQL
public import Queue
public import Support

/// A user whose counter differs from what their jobs say.
public struct UsageDifference: Sendable, Equatable {
  /// The user; `#` and the number when the user is gone.
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
  var difference: Int { used - pendingRefunds - analysed - open }
}

/// A job that is in no table of the queue: not ended, not waiting, not scheduled and not running. No worker finds it.
struct LostJob: Sendable, Equatable {
  /// The job.
  let id: JobID
  /// Whose it is.
  let user: String
  /// The shard.
  let shard: Int16
  /// The month.
  let period: Period
  /// When it was submitted, in seconds since 1970.
  let createdAt: Double
}

/// The jobs that are lost.
struct LostJobs: Sendable, Equatable {
  /// How many there are.
  var count = 0
  /// The first of them, by month and number.
  var first: [LostJob] = []
}

/// Recounts usage from the jobs themselves, and looks for those that are lost.
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
    var differences: [UsageDifference] = []
    for (shard, period) in try await locations(database, month) {
      differences += try await statement(shard, period).run(on: database, deadline: deadline)
    }
    return differences
  }

  /// Looks for jobs that are lost.
  ///
  /// It reads all jobs of a month, each shard and month in one statement and so in one snapshot.
  ///
  /// - Parameters:
  ///   - month: the month; nil for all.
  ///   - limit: how many are named of each shard and month.
  ///   - deadline: how long each statement may take.
  static func lostJobs(
    _ database: ConnectionPool, month: Period? = nil, limit: Int = 1000, deadline: Duration = .seconds(600)
  ) async throws(JobQueueError) -> LostJobs {
    var lost = LostJobs()
    for (shard, period) in try await locations(database, month) {
      let part = try await Statement(
        SQLFunction("lost_jobs", 3, "o_job", "o_user", "o_created_at", "o_count"),
        [.int16(shard), .int16(period.label), .int32(Int32(clamping: limit))],
        while: "looking for lost jobs of \(period)"
      ) { rows in
        LostJobs(
          count: try rows.first?.int("o_count") ?? 0,
          first: try rows.map {
            LostJob(
              id: try $0.jobID("o_job"), user: try $0.string("o_user"), shard: shard, period: period,
              createdAt: try $0.seconds("o_created_at"))
          })
      }.run(on: database, deadline: deadline)
      lost.count += part.count
      lost.first += part.first
    }
    return lost
  }

  /// The shards and months to read, the oldest month first.
  private static func locations(
    _ database: ConnectionPool, _ month: Period?
  ) async throws(JobQueueError) -> [(Int16, Period)] {
    let months = try await Statement(
      SQLFunction("months", 0, "o_period"), [], while: "reading the months of the queue"
    ) { rows in
      try rows.map { try $0.period("o_period") }
    }.run(on: database)
    let shards = try await ShardDirectory(database).shards()
    return months.reversed().filter { month == nil || month == $0 }.flatMap { period in
      shards.map { ($0, period) }
    }
  }

  private static func statement(_ shard: Int16, _ period: Period) -> Statement<[UsageDifference]> {
    Statement(
      SQLFunction("usage_differences", 2, "o_user", "o_used", "o_pending", "o_analysed", "o_open"),
      [.int16(shard), .int16(period.label)],
      while: "recounting \(period)"
    ) { rows in
      try rows.map {
        UsageDifference(
          user: try $0.string("o_user"), shard: shard, period: period, used: try $0.int("o_used"),
          pendingRefunds: try $0.int("o_pending"), analysed: try $0.int("o_analysed"),
          open: try $0.int("o_open"))
      }
    }
  }
}
