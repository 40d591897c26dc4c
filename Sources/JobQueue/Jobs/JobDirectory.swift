public import AnalysisCore
public import PostgreSQL

/// The jobs, wherever they are.
public struct JobDirectory: Sendable {
  let database: ConnectionPool
  let shards: ShardDirectory

  /// The jobs of a database.
  public init(_ database: ConnectionPool) {
    self.database = database
    shards = ShardDirectory(database)
  }

  /// A page of jobs, the latest month and the latest job first.
  ///
  /// - Parameters:
  ///   - after: where the page before ended; nil for the first page.
  ///   - limit: how many jobs at most.
  public func list(
    _ filter: JobFilter = .init(), after: JobCursor? = nil, limit: Int = 100
  ) async throws(JobQueueError) -> JobPage {
    let shards: [Int16]
    if let user = filter.user {
      shards = [try await self.shards.shard(of: user)]
    } else {
      shards = try await self.shards.shards()
    }
    let wanted = max(1, limit)
    var jobs: [JobSummary] = []
    for month in try await months(filter, after) {
      let before = month == after?.period ? after?.job.value : nil
      let left = wanted - jobs.count
      let statements = shards.map {
        Self.page(filter, shard: $0, month: month, before: before ?? .max, limit: left + 1)
      }
      // A month is read whole from every shard, up to what is wanted and one more, then put in order.
      let found = try await database.run(statements).flatMap { $0 }.sorted { $0.id > $1.id }
      jobs += found.prefix(left)
      if found.count > left || jobs.count == wanted {
        return JobPage(jobs: jobs, next: jobs.last.map { JobCursor(period: $0.period, job: $0.id) })
      }
    }
    return JobPage(jobs: jobs, next: nil)
  }

  /// All that is kept of a job; nil when there is no such job. That its result is read, which tells of a person, is
  /// recorded first.
  ///
  /// - Parameter actor: who reads it, for the audit; nil for what the server knows itself.
  public func show(_ job: JobID, by actor: AuditActor? = nil) async throws(JobQueueError) -> JobDetail? {
    guard let place = try await shards.places(of: [job])[job] else { return nil }
    guard let summary = try await summaries([job], at: place).first else { return nil }
    let key: [Parameter] = [.int16(place.shard), .int64(job.value)]
    let attempts = try await Statement(
      QueueSQL.text("queue/job_attempts.sql"), key, while: "reading the attempts of job \(job)"
    ) { rows in
      try rows.map { try AttemptRecord($0) }
    }.run(on: database)
    let result = try await result(of: job, user: summary.user, by: actor)
    let death = try await Statement(
      QueueSQL.text("queue/job_death.sql"), key, while: "reading why job \(job) is dead"
    ) { rows in
      try rows.first.map { try JobDeath($0) }
    }.run(on: database)
    return JobDetail(summary: summary, attempts: attempts, result: result, death: death)
  }

  private func result(
    of job: JobID, user: String, by actor: AuditActor?
  ) async throws(JobQueueError) -> StoredResult? {
    let reading = try await Statement(
      "SELECT analysis.open_results($1, $2)", [.text(user), .array([job.value])],
      while: "recording who reads the result of job \(job)"
    ) { rows in
      try rows.single().stringIfPresent(0)
    }.run(on: database, as: actor)
    guard let reading else { return nil }
    return try await Statement(
      QueueSQL.text("queue/job_result.sql"), [.text(user), .text(reading)],
      while: "reading the result of job \(job)"
    ) { rows in
      try rows.first.map { try StoredResult($0) }
    }.run(on: database)
  }

  /// The state of each of some jobs; jobs that are unknown are left out.
  public func states(_ jobs: [JobID]) async throws(JobQueueError) -> [JobID: JobState] {
    var states: [JobID: JobState] = [:]
    for (place, jobs) in Self.grouped(try await shards.places(of: jobs)) {
      for summary in try await summaries(jobs, at: place) { states[summary.id] = summary.state }
    }
    return states
  }

  static func grouped(_ places: [JobID: JobPlace]) -> [(JobPlace, [JobID])] {
    Dictionary(grouping: places.keys) { places[$0] }
      .compactMap { place, jobs in place.map { ($0, jobs.sorted()) } }
      .sorted { ($0.0.period, $0.0.shard) < ($1.0.period, $1.0.shard) }
  }

  private func summaries(_ jobs: [JobID], at place: JobPlace) async throws(JobQueueError) -> [JobSummary] {
    try await Statement(
      QueueSQL.text("queue/job_show.sql"),
      [.int16(place.shard), .int16(place.period.label), .array(jobs.map(\.value))], while: "reading jobs"
    ) { rows in
      try rows.map { try JobSummary($0, shard: place.shard) }
    }.run(on: database)
  }

  private func months(_ filter: JobFilter, _ after: JobCursor?) async throws(JobQueueError) -> [Period] {
    let months = try await Statement(
      QueueSQL.text("queue/months.sql"), [], while: "reading the months of the queue"
    ) { rows in
      try rows.map { try $0.period(0) }
    }.run(on: database)
    return months.filter { month in
      (filter.month.map { $0 == month } ?? true) && (after.map { month <= $0.period } ?? true)
    }
  }

  private static func page(
    _ filter: JobFilter, shard: Int16, month: Period, before: Int64, limit: Int
  ) -> Statement<[JobSummary]> {
    // Dead jobs are few among many; they have a table of their own.
    let file = filter.state == .dead ? "queue/job_list_dead.sql" : "queue/job_list.sql"
    return Statement(
      QueueSQL.text(file),
      [
        .int16(shard), .int16(month.label), .int64(before), .text(filter.user), .text(filter.state?.rawValue),
        .int16(filter.kind?.code), .int32(Int32(clamping: limit)),
      ], while: "listing jobs"
    ) { rows in
      try rows.map { try JobSummary($0, shard: shard) }
    }
  }
}
