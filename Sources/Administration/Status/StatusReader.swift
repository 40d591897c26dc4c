import AnalysisCore
import JobQueue
import PostgreSQL
import SQLFiles

/// The statements of the queue's status.
struct StatusReader: Sendable {
  /// What there is in a shard beside lanes and workers.
  struct Rest: Sendable {
    var scheduled: BoundedCount
    var nextScheduledAt: Double?
    var nextScheduledIn: Double?
    var dead: BoundedCount
    var pendingRefunds: BoundedCount
  }

  let bound: Int

  func lanes(of shard: Int16) -> Statement<[QueueStatus.LaneStatus]> {
    let bound = bound
    return Statement(
      SQLFunction("status_of_lanes", 3, "o_lane", "o_waiting", "o_in_flight", "o_oldest_seconds"),
      [.int16(shard), .array(Lane.codes), .int32(Int32(clamping: bound + 1))], while: "reading the lanes"
    ) { rows in
      try rows.map {
        QueueStatus.LaneStatus(
          lane: try $0.lane("o_lane"), waiting: BoundedCount(counted: try $0.int("o_waiting"), bound: bound),
          inFlight: try $0.int("o_in_flight"),
          oldestWaitingSeconds: try $0.doubleIfPresent("o_oldest_seconds"))
      }
    }
  }

  func rest(of shard: Int16) -> Statement<Rest> {
    let bound = bound
    return Statement(
      SQLFunction(
        "status_of_shard", 2, "o_scheduled", "o_next_run", "o_next_run_seconds", "o_dead", "o_refunds"),
      [.int16(shard), .int32(Int32(clamping: bound + 1))],
      while: "reading the queue's status"
    ) { rows in
      let row = try rows.single()
      return Rest(
        scheduled: BoundedCount(counted: try row.int("o_scheduled"), bound: bound),
        nextScheduledAt: try row.secondsIfPresent("o_next_run"),
        nextScheduledIn: try row.doubleIfPresent("o_next_run_seconds"),
        dead: BoundedCount(counted: try row.int("o_dead"), bound: bound),
        pendingRefunds: BoundedCount(counted: try row.int("o_refunds"), bound: bound))
    }
  }

  func workers(of shard: Int16) -> Statement<[QueueStatus.WorkerStatus]> {
    Statement(
      SQLFunction(
        "status_of_workers", 1, "o_worker", "o_host", "o_pid", "o_version", "o_started_at",
        "o_silent_seconds", "o_in_flight", "o_report", "o_has_ended"),
      [.int16(shard)], while: "reading the workers"
    ) { rows in
      try rows.map {
        QueueStatus.WorkerStatus(
          id: try $0.int64("o_worker"), host: try $0.string("o_host"), pid: try $0.int32("o_pid"),
          version: try $0.string("o_version"), startedAt: try $0.seconds("o_started_at"),
          heartbeatAgo: try $0.double("o_silent_seconds"), inFlight: try $0.int("o_in_flight"),
          report: try $0.jsonTextIfPresent("o_report").flatMap(WorkerReport.init(json:)),
          hasEnded: try $0.bool("o_has_ended"))
      }
    }
  }

  var gauges: Statement<[String: Int64]> {
    Statement(SQLFunction("gauges", 0, "o_name", "o_value"), [], while: "reading the gauges") { rows in
      Dictionary(
        try rows.map { (try $0.string("o_name"), try $0.int64("o_value")) }, uniquingKeysWith: { $1 })
    }
  }
}
