import CommandLineTool
public import PostgreSQL
public import Queue
public import Support

/// What can be done to jobs, one or many.
public enum JobChange: String, Sendable, CaseIterable {
  /// To queue dead jobs again.
  case retry
  /// To end jobs that have not ended.
  case cancel
  /// To queue cancelled jobs again, for a day.
  case uncancel

  /// The states in which a job can be changed so.
  var states: [JobState] {
    switch self {
    case .retry: [.dead]
    case .cancel: [.waiting, .scheduled, .running]
    case .uncancel: [.cancelled]
    }
  }

  /// What a change of so many jobs does, and what of it can be undone.
  ///
  /// - Parameter way: How a cancellation is undone where this is read: `on its page`.
  func consequences(_ count: Int, undoneBy way: String) -> String {
    switch self {
    case .retry:
      "\(count) dead \(count == 1 ? "job is" : "jobs are") to be queued again. Each takes a unit of its user's present month."
    case .cancel:
      """
      \(count) \(count == 1 ? "job is" : "jobs are") to be cancelled. Results of running jobs are dropped. \
      Each job can be queued again \(way) for one day.
      """
    case .uncancel:
      """
      \(count) cancelled \(count == 1 ? "job is" : "jobs are") to be queued again. Each takes a unit of its user's \
      present month.
      """
    }
  }
}

/// What became of a job that was to be changed.
public enum JobChangeOutcome: Sendable, Hashable {
  /// Nothing was done: a dry run, which found the job in a state from which it can be changed so.
  case meant(JobState, JobChange)
  /// It is cancelled, by this call or an earlier one.
  case cancelled
  /// It waits again and counts in this month.
  case requeued(Period)
  /// The user's limit of the present month is reached.
  case quota
  /// Somebody else is just changing it, or submits for its user, or a worker has it in hand: to be tried again.
  case busy(JobChange)
  /// It stays as it is.
  case untouched(Reason)

  /// Why a job stays as it is: as the database says it, or the state in which it was found.
  public enum Reason: String, Sendable, CaseIterable, ColumnValue {
    // What `cancel`, `retry_dead` and `uncancel` answer.
    case finished, dead, unknown, erased
    case notDead = "not_dead"
    case imageGone = "image_gone"
    case tooLate = "too_late"
    case notCancelled = "not_cancelled"
    // States in which it cannot be changed so; `open` is all that a back-end sees of those before the end.
    case waiting, scheduled, running, succeeded, cancelled, open

    /// The state in which a job was found.
    init(_ state: JobState) {
      self =
        switch state {
        case .waiting: .waiting
        case .scheduled: .scheduled
        case .running: .running
        case .succeeded: .succeeded
        case .dead: .dead
        case .cancelled: .cancelled
        }
    }

    /// What there is to read of it.
    var text: String {
      switch self {
      case .finished, .succeeded: "it was analysed before"
      case .dead: "it is dead"
      case .unknown: "there is no such job"
      case .erased: "its person was erased"
      case .notDead: "it is not dead, or there is no such job"
      case .imageGone:
        "its image was removed after the time for which images are kept; submit the picture anew"
      case .tooLate: "it was cancelled more than a day ago"
      case .notCancelled: "it is not cancelled"
      case .waiting: "it is waiting"
      case .scheduled: "it is scheduled"
      case .running: "it is running"
      case .cancelled: "it was cancelled before"
      case .open: "it has not ended"
      }
    }

    /// What to do next; nil where `text` says so.
    var advice: String? {
      switch self {
      case .imageGone: nil
      case .tooLate: "Submit the picture anew."
      case .unknown: "Look for its number again: the job is removed, or another login's."
      case .erased: "Nothing can be done: what was kept of the person is gone."
      case .dead: "An operator can retry it."
      default: "Look at its state: it has ended meanwhile, or somebody else has changed it."
      }
    }
  }

  /// The database's word for it.
  ///
  /// - Throws: `UnknownValue` for a word that this program does not know.
  init(_ word: String, _ period: Period?, of change: JobChange) throws {
    self =
      switch (word, period) {
      case ("cancelled", _): .cancelled
      case ("requeued", let period?): .requeued(period)
      case ("quota", _): .quota
      case ("busy", _): .busy(change)
      default: .untouched(try Reason(stored: word))
      }
  }

  /// Whether the job was changed as it was asked for.
  var isDone: Bool {
    switch self {
    case .cancelled, .requeued: true
    default: false
    }
  }

  /// What there is to read of it: `cancelled`, `unchanged: it is dead`.
  var text: String {
    switch self {
    case .meant(let state, .cancel): "\(state.rawValue): would be cancelled"
    case .meant(let state, _): "\(state.rawValue): would be queued again"
    case .cancelled: "cancelled"
    case .requeued(let period): "queued again, counts in \(period)"
    case .quota: "not queued: the user's limit of this month is reached"
    case .untouched(let reason): "unchanged: \(reason.text)"
    case .busy(.uncancel):
      "unchanged: a worker still has it in hand, or somebody is changing it; try again in some seconds"
    case .busy: "unchanged: somebody else is changing it, or submits for its user; try again"
    }
  }

  /// What to do next where it was not changed; nil where it was, or where `text` says so.
  var advice: String? {
    switch self {
    case .meant, .cancelled, .requeued, .busy: nil
    case .quota: "Wait for the next month, or have the office raise the limit of the user's plan."
    case .untouched(let reason): reason.advice
    }
  }

  /// One word for counting and for programs.
  var word: String {
    switch self {
    case .meant: "dry_run"
    case .cancelled: "cancelled"
    case .requeued: "requeued"
    case .quota: "quota"
    case .busy: "busy"
    case .untouched(let reason): reason.rawValue
    }
  }
}

extension JobDirectory {
  /// How many jobs one call to the database lists or changes.
  private static let callSize = 500

  /// The jobs that a filter means and that can be changed so, by number; those that come first in the list, where there
  /// are more than the limit.
  ///
  /// - Parameter pages: After how many pages of a list the search ends; what the filter means may be rare among many.
  /// - Returns: The jobs, and whether the search came to its end or to the limit.
  public func jobs(
    _ filter: JobFilter, for change: JobChange, limit: Int, pages: Int = .max
  ) async throws(JobQueueError) -> (jobs: [JobID], isWhole: Bool) {
    if filter.cause != nil { return try await failedJobs(filter, limit: limit, pages: pages) }
    var filter = filter
    var found: Set<JobID> = []
    var isWhole = true
    for state in filter.state.map({ [$0] }) ?? change.states {
      filter.state = state
      let part = try await jobs(filter, changing: change, limit: limit - found.count, pages: pages)
      found.formUnion(part.jobs)
      isWhole = isWhole && part.isWhole
    }
    return (found.sorted(), isWhole)
  }

  private func jobs(
    _ filter: JobFilter, changing change: JobChange, limit: Int, pages: Int
  ) async throws(JobQueueError) -> (jobs: [JobID], isWhole: Bool) {
    // Of the cancelled ones those are asked for that can be queued again; the server decides.
    let from = change == .uncancel ? try await uncancelFrom() : -.infinity
    var found: [JobID] = []
    var cursor: JobCursor?
    var left = pages
    while found.count < limit {
      guard left > 0 else { return (found, false) }
      left -= 1
      let page = try await list(filter, after: cursor, limit: min(Self.callSize, limit - found.count))
      for job in page.jobs where job.finishedAt ?? .infinity > from { found.append(job.id) }
      guard let next = page.next else { break }
      cursor = next
    }
    return (found, true)
  }

  private func failedJobs(
    _ filter: JobFilter, limit: Int, pages: Int
  ) async throws(JobQueueError) -> (jobs: [JobID], isWhole: Bool) {
    var found: [JobID] = []
    var cursor: TimeCursor?
    var left = pages
    while found.count < limit {
      guard left > 0 else { return (found.sorted(), false) }
      left -= 1
      let page = try await failed(filter, after: cursor, limit: min(Self.callSize, limit - found.count))
      found += page.jobs.map(\.summary.id)
      guard let next = page.next else { break }
      cursor = next
    }
    return (found.sorted(), true)
  }

  /// Changes jobs; answers what became of each.
  ///
  /// A cancelled job gives its unit back, and what a worker brings of it is not stored. A dead one, and one that was
  /// cancelled within the last day, is queued again for a unit of the present month, the lowest numbers first.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  public func change(
    _ jobs: [JobID], _ change: JobChange, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> [JobID: JobChangeOutcome] {
    let unknown = JobChangeOutcome.untouched(change == .retry ? .notDead : .unknown)
    var outcomes = Dictionary(jobs.map { ($0, unknown) }, uniquingKeysWith: { one, _ in one })
    for start in stride(from: 0, to: jobs.count, by: Self.callSize) {
      let locations = try await shards.locations(of: Array(jobs[start...].prefix(Self.callSize)))
      for (shard, jobs) in Dictionary(grouping: locations.keys, by: { locations[$0]?.shard ?? 0 }) {
        outcomes.merge(
          try await change.statement(shard, jobs.map(\.value).sorted()).run(on: database, as: actor)
        ) { $1 }
      }
    }
    return outcomes
  }

  /// Throws where this login may not change jobs so, also while there is none to be changed.
  func requireRight(to change: JobChange) async throws(JobQueueError) {
    _ = try await change.statement(0, []).run(on: database)
  }

  /// Since when cancellations can be undone, by the server's clock, in seconds since 1970.
  func uncancelFrom() async throws(JobQueueError) -> Double {
    try await Statement(
      SQLFunction("uncancel_from", 0), as: Double.self, while: "asking which cancellations can be undone"
    ).run(on: database)
  }
}

extension JobChange {
  private struct Cancelled: Decodable {
    let job: JobID
    let outcome: String
  }

  private struct Requeued: Decodable {
    let job: JobID
    let outcome: String
    let period: Period?
  }

  /// Changes jobs of one shard.
  fileprivate func statement(_ shard: Int16, _ jobs: [Int64]) -> Statement<[JobID: JobChangeOutcome]> {
    let parameters: [Parameter] = [.int16(shard), .array(jobs)]
    @Sendable func outcomes(_ rows: [Requeued]) throws -> [JobID: JobChangeOutcome] {
      try rows.reduce(into: [:]) { $0[$1.job] = try JobChangeOutcome($1.outcome, $1.period, of: self) }
    }
    switch self {
    case .cancel:
      return Statement(
        SQLFunction("cancel", 2), parameters, as: [Cancelled].self, while: "cancelling jobs"
      ) { rows in
        try rows.reduce(into: [:]) { $0[$1.job] = try JobChangeOutcome($1.outcome, nil, of: self) }
      }
    case .retry:
      return Statement(
        SQLFunction("retry_dead", 2), parameters, as: [Requeued].self, while: "retrying dead jobs",
        read: outcomes)
    case .uncancel:
      return Statement(
        SQLFunction("uncancel", 2), parameters, as: [Requeued].self, while: "undoing cancellations",
        read: outcomes)
    }
  }
}

enum JobsCancelCommand {
  static let command = ControlCommand(
    "cancel", abstract: "Cancel jobs and give their units back.",
    discussion: """
      A job that is running is cancelled too: what its worker brings is not stored. Jobs that have ended stay \
      as they are, and the exit code is 4. One that somebody else is retrying or cancelling at the moment is \
      left as it is after 2 s, and the exit code is 75. More than ten are asked for first; a script gives --yes. For \
      a day jobs uncancel undoes it.
      """,
    examples: [
      Example("analysisctl jobs cancel 123 124", "Two jobs."),
      Example("analysisctl jobs cancel 123 --reason duplicate", "With the reason, for the audit."),
      Example("analysisctl jobs cancel --user u1 --state scheduled --dry-run", "What would be cancelled."),
    ],
    inputs: JobChange.inputs,
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in try await JobChange.cancel.run(context) }
}

enum JobsRetryCommand {
  static let command = ControlCommand(
    "retry", abstract: "Queue dead jobs again.",
    discussion: """
      Each takes a unit of the present month of its user, the lowest numbers first; those for which the limit \
      has none left stay dead, and the exit code is 3. One that somebody else is changing, or whose user submits just \
      now, is left as it is: 75, try again. More than ten are asked for first; a script gives --yes.
      """,
    examples: [
      Example("analysisctl jobs retry 123", "One job."),
      Example("analysisctl jobs retry --user u1 --month previous", "What failed for a user last month."),
      Example("analysisctl jobs retry --cause server", "Jobs that died because the endpoint failed."),
    ],
    inputs: [JobFilterOptions.cause] + JobChange.inputs,
    exitCodes: [.done, .quotaRefused, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in try await JobChange.retry.run(context) }
}

enum JobsUncancelCommand {
  static let command = ControlCommand(
    "uncancel", abstract: "Queue cancelled jobs again, for a day.",
    discussion: """
      Each takes a unit of the present month of its user, the lowest numbers first, and runs at once, also where it \
      was to run later. Those for which the limit has no unit left stay cancelled, and the exit code is 3. What was \
      cancelled more than a day ago, whose image is gone or whose person was erased stays too, with 4. A job that a \
      worker has still in hand is left as it is: 75, try again in some seconds.
      """,
    examples: [
      Example("analysisctl jobs uncancel 123 124", "Two jobs."),
      Example("analysisctl jobs uncancel --user u1 --dry-run", "What of a user's can be undone."),
    ],
    inputs: JobChange.inputs,
    exitCodes: [.done, .quotaRefused, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in try await JobChange.uncancel.run(context) }
}
