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
      SQLFunction(
        "failure_groups", 2, "o_state", "o_is_all", "o_class", "o_code", "o_status", "o_start", "o_count",
        "o_first_at", "o_last_at", "o_job", "o_message"),
      [.int16(shard), .int32(Int32(clamping: looks))], while: "grouping the jobs that failed"
    ) { rows in
      var part = FailureGroups()
      for row in rows {
        let isDead = try row.string("o_state") == JobState.dead.rawValue
        let isAll = try row.bool("o_is_all")
        if isDead { part.isAllDead = isAll } else { part.isAllRetrying = isAll }
        guard let failureClass = try row.stringIfPresent("o_class") else { continue }
        let group = try FailureGroup(row, failureClass, isDead ? .dead : .scheduled)
        if isDead { part.dead.append(group) } else { part.retrying.append(group) }
      }
      return part
    }
  }
}

extension FailureGroup {
  fileprivate init(_ row: Row, _ failureClass: String, _ state: JobState) throws {
    self.state = state
    cause = FailureCause(
      failureClass, status: try row.int16IfPresent("o_status").map(Int.init) ?? 0,
      code: try row.stringIfPresent("o_code") ?? "", messageStart: try row.string("o_start"))
    count = try row.int("o_count")
    firstAt = try row.seconds("o_first_at")
    lastAt = try row.seconds("o_last_at")
    job = try row.jobID("o_job")
    message = try row.stringIfPresent("o_message") ?? ""
  }

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
      SQLFunction("deaths_of", 2, "o_job", "o_class", "o_code", "o_status", "o_start"),
      [.int16(shard), .array(jobs.map(\.value))], while: "reading why jobs are dead"
    ) { rows in
      try rows.map { row in
        (
          try row.jobID("o_job"),
          FailureCause(
            try row.string("o_class"), status: try row.int16IfPresent("o_status").map(Int.init) ?? 0,
            code: try row.stringIfPresent("o_code") ?? "", messageStart: try row.string("o_start"))
        )
      }
    }
  }
}
