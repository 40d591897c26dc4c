import EventLoop
public import PostgreSQL
public import Support

/// The jobs, wherever they are.
public struct JobDirectory: Sendable {
  package let database: ConnectionPool
  package let shards: ShardDirectory

  /// The jobs of a database.
  ///
  /// - Parameter shards: its shards; nil to ask for them each time.
  public init(_ database: ConnectionPool, shards: [Int16]? = nil) {
    self.database = database
    self.shards = ShardDirectory(database, shards: shards)
  }

  /// How long to wait between two looks: from 50 ms, half as long again each time, up to 1 s.
  public struct WaitSchedule: Sendable {
    private var following: Duration = .milliseconds(50)

    /// A schedule at its beginning.
    public init() {}

    /// The next pause.
    public mutating func next() -> Duration {
      defer { following = min(following * 3 / 2, .seconds(1)) }
      return following
    }

    /// Something happened: look sooner again.
    public mutating func reset() {
      following = .milliseconds(50)
    }
  }

  /// Waits until jobs are finished: analysed, dead or cancelled. It ends early when the task is cancelled.
  ///
  /// A database that is away is waited for too.
  /// - Parameters:
  ///   - finished: called with each job as it is seen to have ended.
  ///   - isAway: called with the failure when the database begins to be away.
  /// - Returns: how each job ended.
  /// - Throws: `notFound` for jobs that are unknown; `cancelled` when the task is.
  public func wait(
    for jobs: [JobID], finished: (JobID, JobState) -> Void = { _, _ in },
    isAway: (JobQueueError) -> Void = { _ in }
  ) async throws(JobQueueError) -> [JobID: JobState] {
    var look = Look(jobs)
    var schedule = WaitSchedule()
    var retries = RetryPauses(.database)
    while true {
      var pause: Duration
      do throws(JobQueueError) {
        if try await take(&look, finished) { schedule.reset() }
        if look.isOver { return look.ended }
        retries.reset()
        pause = schedule.next()
      } catch {
        guard error.isTemporary else { throw error }
        pause = retries.next()
        if retries.failures == 1 { isAway(error) }
      }
      do {
        try await database.loop.sleep(for: pause)
      } catch {
        throw JobQueueError(error, while: "waiting for jobs")
      }
    }
  }

  /// What is known of the jobs that are waited for.
  private struct Look {
    let jobs: [JobID]
    /// Where those live that have not ended; nil before they were looked for.
    var locations: [JobID: JobLocation]?
    var ended: [JobID: JobState] = [:]
    var count = 0

    init(_ jobs: [JobID]) { self.jobs = jobs }

    var isOver: Bool { locations?.isEmpty == true }
  }

  /// Looks once at each job that has not ended; answers whether one has since.
  private func take(
    _ look: inout Look, _ finished: (JobID, JobState) -> Void
  ) async throws(JobQueueError) -> Bool {
    var locations: [JobID: JobLocation]
    if let known = look.locations {
      locations = known
    } else {
      locations = try await present(look.jobs)
    }
    look.count += 1
    // A dead job that somebody retries moves to another month.
    if look.count % 30 == 0 { locations = try await present(Array(locations.keys)) }
    look.locations = locations
    var isNews = false
    for (location, jobs) in Self.grouped(locations) {
      for (job, state) in try await finishedStates(jobs, at: location) where look.ended[job] == nil {
        look.ended[job] = state
        look.locations?[job] = nil
        isNews = true
        finished(job, state)
      }
    }
    return isNews
  }

  /// Where jobs are; one that was there may be gone: with a restore, or an asynchronous standby's promotion.
  private func present(_ jobs: [JobID]) async throws(JobQueueError) -> [JobID: JobLocation] {
    let locations = try await shards.locations(of: jobs)
    if let missing = jobs.first(where: { locations[$0] == nil }) {
      throw JobQueueError(.notFound, "There is no job \(missing).")
    }
    return locations
  }

  /// How each of some jobs has ended, nil for one that has not; jobs that are unknown, or another back-end's, are left
  /// out.
  public func ends(of jobs: [JobID]) async throws(JobQueueError) -> [JobID: JobState?] {
    let locations = try await shards.locations(of: jobs)
    var ends: [JobID: JobState?] = locations.mapValues { _ in nil }
    for (location, jobs) in Self.grouped(locations) {
      for (job, state) in try await finishedStates(jobs, at: location) { ends[job] = .some(state) }
    }
    return ends
  }

  package static func grouped(_ locations: [JobID: JobLocation]) -> [(JobLocation, [JobID])] {
    Dictionary(grouping: locations.keys) { locations[$0] }
      .compactMap { location, jobs in location.map { ($0, jobs.sorted()) } }
      .sorted { ($0.0.period, $0.0.shard) < ($1.0.period, $1.0.shard) }
  }

  private struct Ended: Decodable {
    let job: JobID
    let state: JobState
  }

  private func finishedStates(
    _ jobs: [JobID], at location: JobLocation
  ) async throws(JobQueueError) -> [(JobID, JobState)] {
    try await Statement(
      SQLFunction("jobs_ended", 3),
      [.int16(location.shard), .int16(location.period.label), .array(jobs.map(\.value))],
      as: [Ended].self, while: "waiting for jobs"
    ).run(on: database).map { ($0.job, $0.state) }
  }
}
