public import PostgreSQL
public import Support

extension WorkerStatements {
  /// Takes back the jobs of leases whose deadline has passed, at most so many leases.
  ///
  /// - Parameter grace: how long the server must have been up, so that workers which kept their calls over
  ///   its restart are not robbed.
  public func rescue(limit: Int = 200, grace: Duration = .seconds(15)) -> Statement<RescueOutcome> {
    Statement(
      SQLFunction("rescue", 3),
      [
        .int16(shard), .int32(Int32(clamping: limit)), .int32(Int32(clamping: milliseconds(grace))),
      ], as: RescueOutcome.self, while: "rescuing jobs of lost workers")
  }

  /// Makes scheduled jobs ready whose time has come, by age at most so many of each lane; answers how many the fullest
  /// lane gave. While that is the limit, more are due.
  public func promote(limit: Int = 1000) -> Statement<Int> {
    Statement(SQLFunction("promote", 2), limited(limit), as: Int.self, while: "promoting scheduled jobs")
  }

  /// Applies pending refunds to the counters, at most so many; answers how many.
  public func applyRefunds(limit: Int = 1000) -> Statement<Int> {
    Statement(SQLFunction("apply_refunds", 2), limited(limit), as: Int.self, while: "applying refunds")
  }

  /// Whether it is this caller's turn to do a task that is to be done once an interval, by one process.
  public func takeTurn(_ task: String, every interval: Duration) -> Statement<Bool> {
    Statement(
      SQLFunction("take_turn", 3),
      [.int16(shard), .text(task), .int32(Int32(clamping: milliseconds(interval)))],
      as: Bool.self, while: "taking turns at \(task)")
  }

  /// Looks from zero for jobs that were committed after the scan mark had passed them, and lowers the published mark
  /// of every lane to them; answers in how many lanes.
  public func sweep() -> Statement<Int> {
    Statement(SQLFunction("sweep", 1), [.int16(shard)], as: Int.self, while: "sweeping the queue")
  }

  /// Tells what operators may want to know of the worker, and compares its clock with the server's on the way.
  ///
  /// - Returns: nil when the worker has given no sign of life yet, and nothing was kept.
  public func tell(
    _ report: WorkerReport, on database: ConnectionPool, deadline: Duration? = nil
  ) async throws(JobQueueError) -> ClockComparison? {
    let statement = Statement(
      SQLFunction("record_report", 3),
      [.int16(shard), worker.parameter, .jsonb(storable(report.json))],
      as: Double?.self, while: "telling of this worker")
    return try await ClockComparison.comparing(by: statement, on: database, deadline: deadline)
  }

  /// Takes the worker off the list of those that live; leases that it still holds run out by themselves.
  public func retire() -> Statement<Void> {
    Statement(SQLFunction("retire", 2), [.int16(shard), worker.parameter], while: "leaving the queue")
  }

  /// Makes the partitions from the past month to three months ahead that are missing.
  public static func ensurePartitions() -> Statement<Void> {
    Statement(SQLFunction("prepare_months", 0), [], while: "preparing the coming months")
  }

  /// Refreshes the gauges by which a submit judges whether the queue or the volume is full.
  public static func refreshGauges() -> Statement<Void> {
    Statement(SQLFunction("refresh_gauges", 0), [], while: "refreshing the gauges")
  }

  /// Brings the kept counts of shards up to date where they are due.
  public static func refreshCounts(of shards: [Int16]) -> Statement<Void> {
    Statement(SQLFunction("refresh_counts", 1), [.array(shards)], while: "counting what waits")
  }

  /// Wakes the workers that listen on `analysis_jobs` when the transaction commits; answers false, and wakes nobody,
  /// where others have just been woken.
  static func wakeWorkers(shard: Int16) -> Statement<Bool> {
    Statement(SQLFunction("wake_workers", 1), [.int16(shard)], as: Bool.self, while: "waking the workers")
  }

  /// Wakes the workers that listen on `analysis_jobs`; call it after the commit.
  public static func notifyWorkers(shard: Int16) -> Statement<Void> {
    Statement(SQLFunction("notify_workers", 1), [.int16(shard)], while: "waking the workers")
  }

  /// Tells whoever listens on `analysis_ended` which jobs have ended, each in its shard: from 1 to 10,000.
  public static func notifyEnded(_ jobs: [(shard: Int16, job: JobID)]) -> Statement<Void> {
    Statement(
      SQLFunction("notify_ended", 2), [.array(jobs.map(\.shard)), .array(jobs.map(\.job.value))],
      while: "telling of ended jobs")
  }

  private func limited(_ limit: Int) -> [Parameter] { [.int16(shard), .int32(Int32(clamping: limit))] }
}

/// What a rescue did.
public struct RescueOutcome: Sendable, Equatable, Decodable {
  /// Leases that were lost.
  public var leases: Int
  /// Jobs that run again.
  public var requeued: Int
  /// Jobs that died, since they were lost too often.
  public var dead: Int
}
