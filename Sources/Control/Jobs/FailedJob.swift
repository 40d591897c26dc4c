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

extension FailedJob {
  static let function = SQLFunction(
    "list_dead", 5, "o_job", "o_ended_at", "o_user", "o_kind", "o_period", "o_lane", "o_created_at",
    "o_attempts", "o_class", "o_code", "o_status", "o_message", "o_source_name", "o_worker", "o_host", "o_pid"
  )

  /// Reads a row of it.
  init(_ row: Row, shard: Int16) throws {
    summary = JobSummary(
      id: try row.jobID("o_job"), shard: shard, user: try row.string("o_user"), kind: try row.kind("o_kind"),
      lane: try row.lane("o_lane"), state: .dead, period: try row.period("o_period"),
      createdAt: try row.seconds("o_created_at"), runAt: nil, expiresAt: nil,
      finishedAt: try row.seconds("o_ended_at"), attempts: try row.int("o_attempts"),
      sourceName: try row.stringIfPresent("o_source_name"))
    failureClass = try row.string("o_class")
    code = try row.stringIfPresent("o_code")
    status = try row.int16IfPresent("o_status").map(Int.init)
    message = try row.string("o_message")
    worker = try row.int64IfPresent("o_worker")
    let host = try row.stringIfPresent("o_host")
    let pid = try row.int32IfPresent("o_pid")
    workerName = host.map { [$0, pid.map { "\($0)" }].compactMap { $0 }.joined(separator: " ") }
  }
}

extension JobDirectory {
  /// What a page has of one shard.
  private struct FailedPart: Sendable {
    var jobs: [FailedJob] = []
    /// The last job that was looked at, if the search ended there.
    var end: TimeCursor?
  }

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
    let end = parts.compactMap(\.end).max()
    let jobs = parts.flatMap(\.jobs).filter { job in end.map { job.cursor >= $0 } ?? true }
      .sorted { $0.cursor > $1.cursor }
    if jobs.count > wanted {
      return FailedJobPage(
        jobs: Array(jobs.prefix(wanted)), next: jobs[wanted - 1].cursor, isCutShort: false)
    }
    return FailedJobPage(jobs: jobs, next: end, isCutShort: end != nil && jobs.count < wanted)
  }

  private static func failedPart(
    _ filter: JobFilter, shard: Int16, after: TimeCursor?, limit: Int
  ) -> Statement<FailedPart> {
    Statement(
      FailedJob.function,
      [
        .int16(shard), filter.parameter, .timestamp(timestamp(after?.at)), .int64(after?.job.value),
        .int32(Int32(clamping: limit)),
      ], while: "listing failed jobs"
    ) { rows in
      var part = FailedPart()
      for row in rows {
        if try row.stringIfPresent("o_user") == nil {
          part.end = TimeCursor(at: try row.seconds("o_ended_at"), job: try row.jobID("o_job"))
        } else {
          part.jobs.append(try FailedJob(row, shard: shard))
        }
      }
      return part
    }
  }
}
