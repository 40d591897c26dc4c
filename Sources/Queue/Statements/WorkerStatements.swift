import FoundationEssentials
import PostgreSQL
public import Support

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
        .int16(shard), worker.parameter, .int64(firstLease), .array(lanes.map(\.lane.code)),
        .array(lanes.map(\.from)), .array(lanes.map(\.code)),
        .int32(Int32(clamping: count)), .int32(Int32(clamping: milliseconds(leaseDuration))),
      ], while: "claiming jobs"
    ) { rows in
      try ClaimedLease.leases(of: rows, shard: shard)
    }
  }

  private static let failure = SQLFunction("fail", 14, "o_job", "o_outcome")

  /// Records failed attempts and what is to become of their jobs.
  func fail(_ attempts: [FailedAttempt]) -> Statement<[JobID: FailOutcome]> {
    Statement(
      Self.failure,
      [
        .int16(shard), worker.parameter, .array(attempts.map(\.lease)), .array(attempts.map(\.job.value)),
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
      for row in rows { outcomes[try row.jobID(job)] = try FailOutcome(stored: row.string(outcome)) }
      return outcomes
    }
  }

  /// Releases jobs that were not tried; consumes nothing. Answers those that were still held and are released, and those
  /// that are busy.
  func release(_ jobs: [HeldJob], delay: Duration = .zero) -> Statement<EndedJobs> {
    Statement(
      SQLFunction("release", 5, "o_back", "o_busy"),
      [
        .int16(shard), worker.parameter, .array(jobs.map(\.lease)), .array(jobs.map(\.job.value)),
        .int64(milliseconds(delay)),
      ], while: "releasing jobs", read: Self.endedJobs("o_back"))
  }

  /// Releases what a claim took whose answer was lost, by the ids that it was given for its leases; consumes
  /// nothing. Answers how many jobs it had taken: none if it was not carried out.
  public func disclaim(firstLease: Int64, count: Int) -> Statement<Int> {
    Statement(
      SQLFunction("disclaim", 4),
      [.int16(shard), worker.parameter, .int64(firstLease), .int32(Int32(clamping: count))],
      as: Int.self, while: "looking up a claim")
  }

  private static let heartbeat = SQLFunction("heartbeat", 8)

  /// Pushes the leases on and tells that the worker lives. Answers the leases that are still
  /// held; the jobs of the others belong to somebody else by now.
  public func heartbeat(_ leases: [Int64], leaseDuration: Duration, inFlight: Int) -> Statement<Set<Int64>> {
    Statement(
      Self.heartbeat,
      [
        .int16(shard), worker.parameter, .array(leases),
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

extension WorkerStatements {
  private static let completion = SQLFunction("complete", 28, "o_stored", "o_busy")

  /// Stores analyses, of one or many leases. Answers the jobs whose result was stored by this call, not
  /// those whose lease is gone or that were cancelled meanwhile; and those that are busy.
  ///
  /// - Parameter knownBusy: whether the jobs were busy before: then the call waits for nobody.
  public func complete(_ jobs: [CompletedJob], knownBusy: Bool = false) -> Statement<EndedJobs> {
    Statement(
      Self.completion,
      [
        .int16(shard), worker.parameter, .array(jobs.map(\.lease)), .array(jobs.map(\.job.value)),
        .array(jobs.map(\.analysis.id)), .array(jobs.map { timestamp($0.analysis.answeredAt) }),
        .array(jobs.map { Self.json($0.analysis.conditions) }),
        .array(jobs.map { Int16(clamping: $0.analysis.conditions.count) }),
      ] + Self.columns(jobs.map(\.analysis.primary)) + Self.columns(jobs.map(\.analysis.secondary)) + [
        .array(jobs.map(\.analysis.seriousConfidence)),
        .array(jobs.map(\.analysis.consultationConfidence)),
        .array(jobs.map(\.analysis.isPotentiallySerious)),
        .array(jobs.map(\.analysis.recommendsConsultation)),
        .array(jobs.map { Int16(clamping: $0.calls) }),
        .array(jobs.map { Int32(clamping: $0.callMilliseconds) }),
        .array(jobs.map(\.analysis.model)), .array(jobs.map(\.endpoint)), .text(storable(worker.version)),
        .bool(knownBusy),
      ], while: "storing results", read: Self.endedJobs("o_stored"))
  }

  /// Reads two arrays of jobs: those that ended, and those that are busy.
  static func endedJobs(_ ended: String) -> @Sendable (Rows) throws -> EndedJobs {
    { rows in
      let row = try rows.single()
      func jobs(_ column: String) throws -> Set<JobID> {
        Set(try row.array(column, of: Int64.self).map { JobID($0) })
      }
      return EndedJobs(ended: try jobs(ended), busy: try jobs("o_busy"))
    }
  }

  /// As text, so that what is no JSON is refused by the function and not by the server, which would show it.
  private static func json(_ conditions: [Condition]) -> String {
    String(decoding: ConditionsWriter.json(conditions), as: UTF8.self)
  }

  /// Id, name, confidence, band and whether it is normal, each as one array with gaps where there is no
  /// such condition.
  private static func columns(_ conditions: [Condition?]) -> [Parameter] {
    [
      .array(conditions.map { $0?.id }), .array(conditions.map { $0?.name }),
      .array(conditions.map { $0?.confidence.value }), .array(conditions.map { $0?.confidence.band.code }),
      .array(conditions.map { $0?.isNormal }),
    ]
  }
}

extension WorkerStatements {
  /// By which number a worker is known: in the list of the workers, in the audit and with each failed attempt.
  public static func number(of worker: WorkerIdentity) -> Statement<Int64> {
    Statement(
      SQLFunction("worker_number", 1), [worker.parameter], as: Int64.self,
      while: "asking for the worker's number")
  }

  /// Records that a worker begins to read images of some types.
  public static func recordStart(of worker: WorkerIdentity, kinds: [AnalysisKind]) -> Statement<Void> {
    record("worker_start", worker, kinds: kinds.map(\.rawValue))
  }

  /// Records that a worker has ended in order, and reads no more.
  public static func recordStop(of worker: WorkerIdentity) -> Statement<Void> {
    record("worker_stop", worker, kinds: nil)
  }

  /// Chains what anybody has recorded, and answers how many entries; does nothing where somebody else does so just now.
  public static func chainAudit() -> Statement<Int> { chainAudit(waits: false) }

  /// How many entries one call chains.
  package static let auditPage: Int32 = 1000

  /// Chains what is committed, and answers how many entries.
  ///
  /// - Parameter waits: whether to wait for somebody else who does so at the moment.
  package static func chainAudit(waits: Bool) -> Statement<Int> {
    Statement(
      SQLFunction("chain_audit", 2), [.int32(auditPage), .bool(waits)], as: Int.self,
      while: "chaining the audit")
  }

  /// What else the audit records of a worker.
  private struct Detail: Encodable {
    let pid: Int32
    let version: String
    let types: [String]?
  }

  private static func record(_ event: String, _ worker: WorkerIdentity, kinds: [String]?) -> Statement<Void> {
    let detail = Detail(pid: worker.pid, version: storable(worker.version), types: kinds)
    // Numbers and texts: there is nothing that could not be encoded.
    let json = (try? JSONEncoder().encode(detail)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    return Statement(
      SQLFunction("audit_worker", 3), [.text(event), worker.parameter, .jsonb(json)],
      while: "recording that the worker reads images")
  }
}
