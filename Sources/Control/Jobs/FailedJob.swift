import PostgreSQL
public import Queue
import Support

/// A dead job with what there is to say of its end in one line.
public struct FailedJob: Sendable, Equatable {
  /// The line of the list.
  let summary: JobSummary
  /// The class of the last failure, as it is stored.
  let failureClass: String
  /// The endpoint's code.
  public let code: String?
  /// The HTTP status; nil when there was no answer, or when it died under version 1.0.
  public let status: Int?
  /// What happened.
  public let message: String
  /// The number of the worker that had it last; nil where that is not known.
  public let worker: Int64?
  /// That worker's machine and process; nil when it has been gone for a day.
  let workerName: String?

  /// The class, the HTTP status and the endpoint's code.
  var cause: FailureCause { FailureCause(failureClass, status: status, code: code) }

  /// Its position in a list.
  var cursor: TimeCursor { TimeCursor(at: summary.finishedAt ?? 0, job: summary.id) }
}

/// A page of failed jobs, those that died last first.
public struct FailedJobPage: Sendable, Equatable {
  /// The jobs.
  public let jobs: [FailedJob]
  /// Where the next page begins; nil when there is none.
  public let next: TimeCursor?
  /// Whether the search stopped before the page was full, and there may be more.
  let isCutShort: Bool
}

/// A row of `analysis.list_dead`.
private struct DeadJob: Decodable {
  let job: JobID
  let user: String
  let kind: AnalysisKind
  let lane: Lane
  let period: Period
  let createdAt, endedAt: Double
  let attempts: Int
  let sourceName: String?
  let `class`, message: String
  let code, host: String?
  let status, pid: Int?
  let worker: Int64?

  func failed(in shard: Int16) -> FailedJob {
    FailedJob(
      summary: JobSummary(
        id: job, shard: shard, user: user, kind: kind, lane: lane, state: .dead, period: period,
        createdAt: createdAt, runAt: nil, expiresAt: nil, finishedAt: endedAt, attempts: attempts,
        sourceName: sourceName),
      failureClass: `class`, code: code, status: status, message: message, worker: worker,
      workerName: JobHolder.name(host: host, pid: pid))
  }

  /// Where a search ended.
  struct End: Decodable {
    let job: JobID
    let endedAt: Double
  }
}

extension JobDirectory {
  /// A page of failed jobs, those that died last first.
  ///
  /// - Parameters:
  ///   - filter: which are meant; its state does not matter.
  ///   - after: where the page before ended; nil for the first page.
  ///   - limit: how many jobs at most; 10,000 if it is more.
  public func failed(
    _ filter: JobFilter = .init(), after: TimeCursor? = nil, limit: Int = 100
  ) async throws(JobQueueError) -> FailedJobPage {
    let shards = try await shards(of: filter)
    let wanted = min(max(1, limit), 10_000)
    let parts = try await database.run(
      shards.map { Self.failedPart(filter, shard: $0, after: after, limit: wanted + 1) })
    // Nothing is known of a shard's jobs behind the job where it stopped looking.
    let end = parts.joined().compactMap(\.end).map { TimeCursor(at: $0.endedAt, job: $0.job) }.max()
    let jobs = zip(shards, parts).flatMap { shard, part in part.compactMap { $0.item?.failed(in: shard) } }
      .filter { job in end.map { job.cursor >= $0 } ?? true }
      .sorted { $0.cursor > $1.cursor }
    if jobs.count > wanted {
      return FailedJobPage(
        jobs: Array(jobs.prefix(wanted)), next: jobs[wanted - 1].cursor, isCutShort: false)
    }
    return FailedJobPage(jobs: jobs, next: end, isCutShort: end != nil && jobs.count < wanted)
  }

  private static func failedPart(
    _ filter: JobFilter, shard: Int16, after: TimeCursor?, limit: Int
  ) -> Statement<[Found<DeadJob, DeadJob.End>]> {
    Statement(
      SQLFunction("list_dead", 5),
      [
        .int16(shard), filter.parameter, .timestamp(timestamp(after?.at)), .int64(after?.job.value),
        .int32(Int32(clamping: limit)),
      ], as: [Found<DeadJob, DeadJob.End>].self, while: "listing failed jobs")
  }
}
