import PostgreSQL
public import Queue
import Support

extension JobDirectory {
  /// How many jobs a page looks at in all shards that the filter does not mean. For each of them the database reads four
  /// rows at most: 10,000 in all.
  static let looks = 2500

  /// A page of jobs, the latest month and the latest job first.
  ///
  /// A page may be shorter than `limit`, or empty, and still have a next one: when what the filter means is rare among
  /// many jobs.
  ///
  /// - Parameters:
  ///   - after: where the page before ended; nil for the first page.
  ///   - limit: how many jobs at most; 10,000 if it is more.
  ///   - searches: how many times it looks at so many jobs, one after the other, before the page is cut short.
  public func list(
    _ filter: JobFilter = .init(), after: JobCursor? = nil, limit: Int = 100, searches: Int = 1
  ) async throws(JobQueueError) -> JobListPage {
    var page = try await page(filter, after: after, limit: limit)
    for _ in 1..<max(1, searches) where page.isCutShort {
      let rest = try await self.page(filter, after: page.next, limit: limit - page.jobs.count)
      page = JobListPage(jobs: page.jobs + rest.jobs, next: rest.next, isCutShort: rest.isCutShort)
    }
    return page
  }

  /// What one search finds.
  private func page(
    _ filter: JobFilter, after: JobCursor?, limit: Int
  ) async throws(JobQueueError) -> JobListPage {
    let shards = try await shards(of: filter)
    let wanted = min(max(1, limit), 10_000)
    let looks = max(1, Self.looks / shards.count)
    // Each shard may have all that is wanted, and one more tells that the page is not the last.
    let found = try await database.run(
      shards.map { Self.part(filter, shard: $0, after: after, limit: wanted + 1, looks: looks) }
    ).joined()
    // Nothing is known of a shard's jobs behind the job where it stopped looking.
    let end = found.compactMap(\.end).max()
    let jobs = found.compactMap(\.item).filter { job in end.map { job.cursor >= $0 } ?? true }
      .sorted { $0.cursor > $1.cursor }
    if jobs.count > wanted {
      return JobListPage(
        jobs: Array(jobs.prefix(wanted)), next: jobs[wanted - 1].cursor, isCutShort: false)
    }
    return JobListPage(jobs: jobs, next: end, isCutShort: end != nil && jobs.count < wanted)
  }

  /// How many jobs there are in each state of those that this login sees, up to a bound; a state of which nothing is known
  /// is left out.
  func counts() async throws(JobQueueError) -> [JobState: BoundedCount] {
    let counts = try await Statement(
      SQLFunction("jobs_by_state", 0), as: [StateCount].self, while: "counting jobs by their states"
    ).run(on: database)
    return Dictionary(
      counts.filter { $0.isAll || $0.count > 0 }.map {
        ($0.state, BoundedCount($0.count, isExact: $0.isAll, isAbout: $0.isAbout))
      }, uniquingKeysWith: +)
  }

  private struct StateCount: Decodable {
    let state: JobState
    let count: Int
    let isAll, isAbout: Bool
  }

  /// The shards in which jobs can be that a filter means.
  func shards(of filter: JobFilter) async throws(JobQueueError) -> [Int16] {
    guard let user = filter.user else { return try await shards.shards() }
    return [try await shards.shard(of: user)]
  }

  /// All that is kept of a job; nil when there is no such job. That its result is read, which says something of a person, is
  /// recorded first.
  ///
  /// - Parameter actor: who reads it, for the audit; nil for what the server knows itself.
  func show(_ job: JobID, by actor: AuditActor? = nil) async throws(JobQueueError) -> JobDetail? {
    guard var detail = try await showWithoutResult(job) else { return nil }
    try await readResult(of: &detail, by: actor)
    return detail
  }

  /// Reads what was found of a job, which is recorded first. To who looks for the causes of failures, and may not
  /// read it, it stays hidden.
  ///
  /// - Parameter actor: who reads it, for the audit; nil for what the server knows itself.
  func readResult(
    of detail: inout JobDetail, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    let job = detail.summary
    guard job.state == .succeeded else { return }
    do {
      detail.reading = try await openResults(of: [job.id], user: job.user, by: actor)
      guard let reading = detail.reading else { return }
      detail.result = try await results(of: job.user, reading)[job.id]
    } catch {
      guard error.lacksRole else { throw error }
      detail.isResultHidden = true
    }
  }

  /// All that is kept of a job but what was found, in four statements and one for each shard; nil when there is no such
  /// job.
  func showWithoutResult(_ job: JobID) async throws(JobQueueError) -> JobDetail? {
    guard let location = try await shards.locations(of: [job])[job] else { return nil }
    guard let summary = try await summaries([job], at: location).first else { return nil }
    let key: [Parameter] = [.int16(location.shard), .int64(job.value)]
    let attempts = try await Statement(
      SQLFunction("attempts_shown", 2), key, as: [AttemptRecord].self,
      while: "reading the attempts of job \(job)"
    ).run(on: database)
    let label = try await Statement(
      SQLFunction("job_label_of", 3),
      [.int16(location.shard), .int16(location.period.label), .int64(job.value)], as: JobLabel?.self,
      while: "reading the batch of job \(job)"
    ).run(on: database)
    let death =
      summary.state != .dead
      ? nil
      : try await Statement(
        SQLFunction("job_death", 2), key, as: JobDeath?.self, while: "reading why job \(job) is dead"
      ).run(on: database)
    let holder =
      summary.state != .running
      ? nil
      : try await Statement(
        SQLFunction("job_holder", 2), key, as: JobHolder?.self, while: "reading who has job \(job)"
      ).run(on: database)
    return JobDetail(
      summary: summary, attempts: attempts, result: nil, death: death, holder: holder, batch: label?.batch,
      reference: label?.reference)
  }

  private struct JobLabel: Decodable {
    let batch: BatchID?
    let reference: String?
  }

  /// The analyses of jobs; a job without one that this login may read is left out. That they are read is recorded
  /// first, for each person whose they are.
  ///
  /// - Parameters:
  ///   - jobs: The jobs of each user.
  ///   - actor: who reads them, for the audit; nil for what the server knows itself.
  func results(
    of jobs: [String: [JobID]], by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> [JobID: StoredResult] {
    var results: [JobID: StoredResult] = [:]
    for (user, jobs) in jobs.sorted(by: { $0.key < $1.key }) {
      for start in stride(from: 0, to: jobs.count, by: Self.resultsAtOnce) {
        let part = jobs[start..<min(start + Self.resultsAtOnce, jobs.count)]
        guard let reading = try await openResults(of: part, user: user, by: actor) else { continue }
        results.merge(try await self.results(of: user, reading)) { $1 }
      }
    }
    return results
  }

  /// Records that results of a user are read, and returns what they are then asked for with; nil where none of the jobs
  /// has one that this login may read.
  private func openResults(
    of jobs: ArraySlice<JobID>, user: String, by actor: AuditActor?
  ) async throws(JobQueueError) -> String? {
    let what = jobs.count == 1 ? "the result of job \(jobs[jobs.startIndex])" : "results"
    return try await Statement(
      SQLFunction("open_results", 2), [.text(user), .array(jobs.map(\.value))], as: String?.self,
      while: "recording who reads \(what)"
    ).run(on: database, as: actor)
  }

  private func results(
    of user: String, _ reading: String
  ) async throws(JobQueueError) -> [JobID: StoredResult] {
    let results = try await Statement(
      SQLFunction("results_of", 2), [.text(user), .text(reading)], as: [JobResult].self,
      while: "reading results"
    ).run(on: database)
    return Dictionary(uniqueKeysWithValues: results.map { ($0.jobID, $0.result) })
  }

  private struct JobResult: Decodable {
    let jobID: JobID
    let result: StoredResult
  }

  /// How many results one entry of the audit names.
  private static let resultsAtOnce = 1000

  /// The state of each of some jobs; jobs that are unknown are left out.
  func states(_ jobs: [JobID]) async throws(JobQueueError) -> [JobID: JobState] {
    var states: [JobID: JobState] = [:]
    for (location, jobs) in Self.grouped(try await shards.locations(of: jobs)) {
      for summary in try await summaries(jobs, at: location) { states[summary.id] = summary.state }
    }
    return states
  }

  private func summaries(_ jobs: [JobID], at location: JobLocation) async throws(JobQueueError)
    -> [JobSummary]
  {
    try await Statement(
      SQLFunction("jobs_shown", 3),
      [.int16(location.shard), .int16(location.period.label), .array(jobs.map(\.value))],
      as: [JobSummary].self, beside: ["shard": location.shard], while: "reading jobs"
    ).run(on: database)
  }

  /// What a page has of one shard, and the last job that was looked at, if the search ended there.
  private static func part(
    _ filter: JobFilter, shard: Int16, after: JobCursor?, limit: Int, looks: Int
  ) -> Statement<[Found<JobSummary, JobCursor>]> {
    let page: [Parameter] = [
      .int16(after?.period.label), .int64(after?.job.value), .int32(Int32(clamping: limit)),
      .int32(Int32(clamping: looks)),
    ]
    // Few jobs are in a batch or have a reference, and an index has them together.
    let isByLabel = filter.batch != nil || filter.reference != nil
    let meant: [Parameter] =
      isByLabel
      ? [filter.parameter]
      : [
        .text(filter.user), .text(filter.state?.rawValue), .int16(filter.kind?.code),
        .int16(filter.month?.label),
      ]
    return Statement(
      isByLabel ? SQLFunction("find_jobs", 6) : SQLFunction("list_jobs", 9), [.int16(shard)] + meant + page,
      as: [Found<JobSummary, JobCursor>].self, beside: ["shard": shard], while: "listing jobs")
  }
}
