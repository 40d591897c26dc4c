public import AnalysisCore
import PostgreSQL
import SQLFiles

/// The calls that a worker makes for one shard. Nothing is executed here: each answers a ``Statement``,
/// so that several can go out in one write.
public struct WorkerStatements: Sendable {
  /// The shard.
  public let shard: Int16
  /// Who asks.
  public let worker: WorkerIdentity

  /// The calls of a worker for a shard.
  public init(shard: Int16, worker: WorkerIdentity) {
    self.shard = shard
    self.worker = worker
  }

  /// Takes jobs: at most `count` in all, lane by lane in the order given. A lane in which cancelled jobs were dropped
  /// has a lease without jobs beside.
  ///
  /// - Parameters:
  ///   - firstLease: the id of the first lane's lease; each other lane takes the next, so as many ids are
  ///     used as there are lanes.
  ///   - lease: how long the jobs are held unless a heartbeat pushes it on.
  public func claim(
    firstLease: Int64, lanes: [LaneClaim], count: Int, leaseDuration: Duration
  ) -> Statement<[ClaimedLease]> {
    let shard = shard
    return Statement(
      ClaimColumns.function,
      [
        .int16(shard), .int64(worker.id), .int64(firstLease), .array(lanes.map(\.lane.code)),
        .array(lanes.map(\.from)), .array(lanes.map { Int32(clamping: $0.limit) }),
        .int32(Int32(clamping: count)), .int32(Int32(clamping: milliseconds(leaseDuration))),
      ], while: "claiming jobs"
    ) { rows in
      try ClaimedLease.leases(of: rows, shard: shard)
    }
  }

  private static let failure = SQLFunction("fail", 14, "o_job", "o_outcome")

  /// Records failed attempts and what is to become of their jobs.
  public func fail(_ attempts: [FailedAttempt]) -> Statement<[JobID: FailOutcome]> {
    Statement(
      Self.failure,
      [
        .int16(shard), .int64(worker.id), .array(attempts.map(\.lease)), .array(attempts.map(\.job.value)),
        .array(attempts.map(\.delayMilliseconds)), .array(attempts.map(\.consumes)),
        .array(attempts.map(\.failureClass.rawValue)), .array(attempts.map { $0.code.map(storable) }),
        .array(attempts.map { storable($0.message) }), .array(attempts.map { $0.errorID.map(storable) }),
        .array(attempts.map { $0.status.map { Int16(clamping: $0) } }),
        .array(attempts.map { Int16(clamping: $0.calls) }), .array(attempts.map(\.maybeCounted)),
        .array(attempts.map { $0.endpoint.map(storable) }),
      ], while: "recording failed attempts"
    ) { rows in
      var outcomes: [JobID: FailOutcome] = [:]
      let (job, outcome) = (try rows.position(of: "o_job"), try rows.position(of: "o_outcome"))
      for row in rows { outcomes[try row.jobID(job)] = try row.named(outcome, FailOutcome.self) }
      return outcomes
    }
  }

  /// Releases jobs that were not tried; consumes nothing. Answers those that were still held and are released, and those
  /// that are busy.
  public func release(_ jobs: [HeldJob], delay: Duration = .zero) -> Statement<EndedJobs> {
    Statement(
      SQLFunction("release", 5, "o_back", "o_busy"),
      [
        .int16(shard), .int64(worker.id), .array(jobs.map(\.lease)), .array(jobs.map(\.job.value)),
        .int64(milliseconds(delay)),
      ], while: "releasing jobs", read: Self.endedJobs("o_back"))
  }

  /// Releases what a claim took whose answer was lost, by the ids that it was given for its leases; consumes
  /// nothing. Answers how many jobs it had taken: none if it was not carried out.
  public func disclaim(firstLease: Int64, count: Int) -> Statement<Int> {
    Statement(
      SQLFunction("disclaim", 4),
      [.int16(shard), .int64(worker.id), .int64(firstLease), .int32(Int32(clamping: count))],
      while: "looking up a claim"
    ) { rows in
      try rows.single().int("disclaim")
    }
  }

  private static let heartbeat = SQLFunction("heartbeat", 8)

  /// Pushes the leases on and tells that the worker lives. Answers the leases that are still
  /// held; the jobs of the others belong to somebody else by now.
  public func heartbeat(_ leases: [Int64], leaseDuration: Duration, inFlight: Int) -> Statement<Set<Int64>> {
    Statement(
      Self.heartbeat,
      [
        .int16(shard), .int64(worker.id), .array(leases),
        .int32(Int32(clamping: milliseconds(leaseDuration))),
        .text(storable(worker.host)), .int32(worker.pid), .text(storable(worker.version)),
        .int32(Int32(clamping: inFlight)),
      ], while: "sending the heartbeat"
    ) { rows in
      let lease = try rows.position(of: "heartbeat")
      return Set(try rows.map { try $0.int64(lease) })
    }
  }

  /// Publishes the scan marks, at most once a second a lane, and answers what is published of each lane.
  ///
  /// - Parameter ends: whether the worker ends, and publishes at once; another that writes a lane just then still has
  ///   the precedence, as the answer shows.
  public func tick(
    _ marks: [(lane: Lane, furthest: Int64)], ends: Bool = false
  ) -> Statement<[Lane: PublishedMark]> {
    Statement(
      SQLFunction("tick", 4, "o_lane", "o_scan_from", "o_now_vt"),
      [.int16(shard), .array(marks.map(\.lane.code)), .array(marks.map(\.furthest)), .bool(ends)],
      while: "publishing the scan marks"
    ) { rows in
      var published: [Lane: PublishedMark] = [:]
      for row in rows {
        published[try row.lane("o_lane")] = PublishedMark(
          scanFrom: try row.int64("o_scan_from"), furthest: try row.int64("o_now_vt"))
      }
      return published
    }
  }
}
