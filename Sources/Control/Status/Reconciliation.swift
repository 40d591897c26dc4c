public import PostgreSQL
public import Queue
public import Support

/// A user whose counter differs from what their jobs say.
public struct UsageDifference: Sendable, Equatable, RenamedColumns {
  /// They are the pending ones there.
  public static let columns = ["pendingRefunds": "pending"]

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
struct LostJob: Sendable, Equatable, RenamedColumns {
  static let columns = ["id": "job"]

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
        SQLFunction("lost_jobs", 3), [.int16(shard), .int16(period.label), .int32(Int32(clamping: limit))],
        as: [Lost].self, beside: ["shard": shard, "period": period],
        while: "looking for lost jobs of \(period)"
      ).run(on: database, deadline: deadline)
      lost.count += part.first?.count ?? 0
      lost.first += part.map(\.lost)
    }
    return lost
  }

  /// A lost job, and how many there are of its shard and month.
  private struct Lost: Decodable {
    let lost: LostJob
    let count: Int
  }

  /// The shards and months to read, the oldest month first.
  private static func locations(
    _ database: ConnectionPool, _ month: Period?
  ) async throws(JobQueueError) -> [(Int16, Period)] {
    let months = try await Statement(
      SQLFunction("months", 0), as: [Period].self, while: "reading the months of the queue"
    ).run(on: database)
    let shards = try await ShardDirectory(database).shards()
    return months.reversed().filter { month == nil || month == $0 }.flatMap { period in
      shards.map { ($0, period) }
    }
  }

  private static func statement(_ shard: Int16, _ period: Period) -> Statement<[UsageDifference]> {
    Statement(
      SQLFunction("usage_differences", 2), [.int16(shard), .int16(period.label)],
      as: [UsageDifference].self, beside: ["shard": shard, "period": period], while: "recounting \(period)")
  }
}
