import PostgreSQL
public import Queue
import Support

/// Jobs that failed of one cause.
struct FailureGroup: Sendable, Equatable {
  /// Dead, or scheduled: to be tried again.
  let state: JobState
  /// The cause, with all of its parts.
  let cause: FailureCause
  /// How many of those that were looked at.
  var count: Int
  /// When the first of them failed, in seconds since 1970.
  var firstAt: Double
  /// When the last of them failed, in seconds since 1970.
  var lastAt: Double
  /// The one with the highest number.
  var job: JobID
  /// What happened to that one.
  var message: String
}

/// The jobs that failed, by their causes, those that failed last first.
struct FailureGroups: Sendable, Equatable {
  /// Those of dead jobs.
  var dead: [FailureGroup] = []
  /// Those of jobs that are to be tried again.
  var retrying: [FailureGroup] = []
  /// Whether all dead jobs were looked at, and not only the last ones.
  var isAllDead = true
  /// Whether all jobs that are to be tried again were looked at, and not only the next ones.
  var isAllRetrying = true
}

extension JobDirectory {
  /// How many dead jobs are looked at to group them, in all shards; those that died last.
  static let failureLooks = 10_000

  /// The jobs that failed, grouped by their causes.
  func failureGroups() async throws(JobQueueError) -> FailureGroups {
    let shards = try await shards.shards()
    let looks = max(100, Self.failureLooks / shards.count)
    let parts = try await database.run(shards.map { Self.groups(in: $0, looks: looks) })
    var groups: [JobState: [FailureCause: FailureGroup]] = [:]
    var answer = FailureGroups()
    for part in parts {
      answer.isAllDead = answer.isAllDead && part.isAllDead
      answer.isAllRetrying = answer.isAllRetrying && part.isAllRetrying
      for group in part.dead + part.retrying {
        groups[group.state, default: [:]][group.cause] =
          groups[group.state]?[group.cause].map { $0.joined(with: group) } ?? group
      }
    }
    answer.dead = Self.latestFirst(groups[.dead])
    answer.retrying = Self.latestFirst(groups[.scheduled])
    return answer
  }

  private static func latestFirst(_ groups: [FailureCause: FailureGroup]?) -> [FailureGroup] {
    (groups ?? [:]).values.sorted { ($1.lastAt, $1.job) < ($0.lastAt, $0.job) }
  }

  private static func groups(in shard: Int16, looks: Int) -> Statement<FailureGroups> {
    Statement(
      SQLFunction("failure_groups", 2), [.int16(shard), .int32(Int32(clamping: looks))],
      as: [GroupRow].self, while: "grouping the jobs that failed"
    ) { rows in
      var part = FailureGroups()
      for row in rows {
        let isDead = row.state == JobState.dead.rawValue
        if isDead { part.isAllDead = row.isAll } else { part.isAllRetrying = row.isAll }
        guard let group = row.group else { continue }
        if isDead { part.dead.append(group) } else { part.retrying.append(group) }
      }
      return part
    }
  }
}

/// A group, or that a state has none.
private struct GroupRow: Decodable {
  let state: String
  let isAll: Bool
  let `class`, code, start, message: String?
  let status, count: Int?
  let firstAt, lastAt: Double?
  let job: JobID?

  var group: FailureGroup? {
    guard let `class`, let start, let count, let firstAt, let lastAt, let job else { return nil }
    return FailureGroup(
      state: state == JobState.dead.rawValue ? .dead : .scheduled,
      cause: FailureCause(`class`, status: status ?? 0, code: code ?? "", messageStart: start), count: count,
      firstAt: firstAt, lastAt: lastAt, job: job, message: message ?? "")
  }
}

extension FailureGroup {
  /// The same cause in two shards.
  fileprivate func joined(with other: FailureGroup) -> FailureGroup {
    var group = job > other.job ? self : other
    group.count = count + other.count
    group.firstAt = min(firstAt, other.firstAt)
    group.lastAt = max(lastAt, other.lastAt)
    return group
  }
}

extension JobDirectory {
  /// The causes of those of some jobs that are dead, with all of their parts.
  func causes(of jobs: [JobSummary]) async throws(JobQueueError) -> [JobID: FailureCause] {
    let dead = Dictionary(grouping: jobs.filter { $0.state == .dead }, by: \.shard)
    guard !dead.isEmpty else { return [:] }
    let parts = try await database.run(dead.map { Self.causes(of: $1.map(\.id), in: $0) })
    return Dictionary(parts.joined(), uniquingKeysWith: { first, _ in first })
  }

  /// The cause of which a job is dead, with all of its parts; nil when there is no such job, or it is not dead.
  func cause(of job: JobID) async throws(JobQueueError) -> FailureCause? {
    guard let location = try await shards.locations(of: [job])[job] else { return nil }
    return try await Self.causes(of: [job], in: location.shard).run(on: database).first?.1
  }

  private static func causes(of jobs: [JobID], in shard: Int16) -> Statement<[(JobID, FailureCause)]> {
    Statement(
      SQLFunction("deaths_of", 2), [.int16(shard), .array(jobs.map(\.value))], as: [Death].self,
      while: "reading why jobs are dead"
    ) { deaths in
      deaths.map { death in
        (
          death.job,
          FailureCause(
            death.class, status: death.status ?? 0, code: death.code ?? "", messageStart: death.start)
        )
      }
    }
  }

  private struct Death: Decodable {
    let job: JobID
    let `class`, start: String
    let code: String?
    let status: Int?
  }
}

/// What jobs that failed have in common; what is nil does not matter.
public struct FailureCause: Sendable, Hashable, CustomStringConvertible {
  /// The class of failure, as it is stored.
  var failureClass: String
  /// The HTTP status; 0 for none.
  public var status: Int?
  /// The endpoint's code; empty for none.
  public var code: String?
  /// What the message has before its first digit, at most 100 characters: numbers in it differ from job to job.
  var messageStart: String?

  /// A cause with its parts.
  init(_ failureClass: String, status: Int? = nil, code: String? = nil, messageStart: String? = nil) {
    self.failureClass = failureClass
    self.status = status
    self.code = code
    self.messageStart = messageStart
  }

  /// Reads `server`, `server 500`, `server SERVER_ERROR` or `server 500 SERVER_ERROR`; nil for anything else.
  init?(_ text: String) {
    var words = text.split(separator: " ").map(String.init)
    guard let first = words.first, FailureClass(rawValue: first) != nil else { return nil }
    words.removeFirst()
    var status: Int?
    if let number = words.first.flatMap({ Int($0) }), (100...599).contains(number) {
      status = number
      words.removeFirst()
    }
    self.init(first, status: status, code: words.isEmpty ? nil : words.joined(separator: " "))
  }

  /// The class, the status and the code, as `init(_:)` reads them.
  public var description: String {
    let number = status.flatMap { $0 == 0 ? nil : String($0) }
    let word = code.flatMap { $0.isEmpty ? nil : $0 }
    return [failureClass, number, word].compactMap { $0 }.joined(separator: " ")
  }
}

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
