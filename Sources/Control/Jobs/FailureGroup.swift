import PostgreSQL
import Queue
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
