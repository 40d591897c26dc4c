import AnalysisCore
import JobQueue
import PostgreSQL

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
      QueueSQL.text("queue/status_lanes.sql"),
      [.int16(shard), .array(Lane.codes), .int32(Int32(clamping: bound + 1))], while: "reading the lanes"
    ) { rows in
      try rows.map {
        QueueStatus.LaneStatus(
          lane: try $0.lane(0), waiting: BoundedCount(counted: try $0.int(1), bound: bound),
          inFlight: try $0.int(2), oldestWaitingSeconds: try $0.doubleIfPresent(3))
      }
    }
  }

  func rest(of shard: Int16) -> Statement<Rest> {
    let bound = bound
    return Statement(
      QueueSQL.text("queue/status_shard.sql"), [.int16(shard), .int32(Int32(clamping: bound + 1))],
      while: "reading the queue's status"
    ) { rows in
      let row = try rows.single()
      return Rest(
        scheduled: BoundedCount(counted: try row.int(0), bound: bound),
        nextScheduledAt: try row.doubleIfPresent(1),
        nextScheduledIn: try row.doubleIfPresent(2),
        dead: BoundedCount(counted: try row.int(3), bound: bound),
        pendingRefunds: BoundedCount(counted: try row.int(4), bound: bound))
    }
  }

  func workers(of shard: Int16) -> Statement<[QueueStatus.WorkerStatus]> {
    Statement(QueueSQL.text("queue/status_workers.sql"), [.int16(shard)], while: "reading the workers") {
      rows in
      try rows.map {
        QueueStatus.WorkerStatus(
          id: try $0.int64(0), host: try $0.string(1), pid: try $0.int32(2), version: try $0.string(3),
          startedAt: try $0.double(4), heartbeatAgo: try $0.double(5), inFlight: try $0.int(6),
          report: try $0.stringIfPresent(7).flatMap(WorkerReport.init(json:)),
          hasEnded: try $0.bool(8))
      }
    }
  }

  var gauges: Statement<[String: Int64]> {
    Statement("SELECT name, value FROM analysis.gauge", [], while: "reading the gauges") { rows in
      Dictionary(try rows.map { (try $0.string(0), try $0.int64(1)) }, uniquingKeysWith: { $1 })
    }
  }
}
