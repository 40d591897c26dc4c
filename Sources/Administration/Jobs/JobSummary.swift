public import AnalysisCore
import JobQueue
import PostgreSQL

/// What there is to say of a job in one line.
public struct JobSummary: Sendable, Equatable {
  /// The job.
  public let id: JobID
  /// The shard in which it lives.
  public let shard: Int16
  /// Whose it is.
  public let user: String
  /// What is looked for.
  public let kind: AnalysisKind
  /// The lane to which it belongs.
  public let lane: Lane
  /// Where it is on its way.
  public let state: JobState
  /// The month in which it counts.
  public let period: Period
  /// When it was submitted, in seconds since 1970.
  public let createdAt: Double
  /// When it runs next, or might run first, in seconds since 1970; nil for at once.
  public let runAt: Double?
  /// Until when it is wanted, in seconds since 1970; nil for ever.
  public let expiresAt: Double?
  /// When it ended, in seconds since 1970; nil while it has not.
  public let finishedAt: Double?
  /// Attempts that count so far.
  public let attempts: Int
  /// What the submitter calls the image.
  public let sourceName: String?

  /// Its place in a list.
  var cursor: JobCursor { JobCursor(period: period, job: id) }
}

extension JobSummary {
  /// Reads a row of `sql/queue/job_list.sql` and its kin.
  init(_ row: Row, shard: Int16) throws {
    id = try row.jobID(0)
    self.shard = shard
    period = try row.period(1)
    user = try row.string(2)
    kind = try row.kind(3)
    lane = try row.lane(4)
    state = try row.named(5, JobState.self)
    createdAt = try row.double(6)
    runAt = try row.doubleIfPresent(7)
    expiresAt = try row.doubleIfPresent(8)
    finishedAt = try row.doubleIfPresent(9)
    attempts = try row.int(10)
    sourceName = try row.stringIfPresent(11)
  }
}
