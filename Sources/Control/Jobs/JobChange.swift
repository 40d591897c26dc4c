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
  public var states: [JobState] {
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
enum JobChangeOutcome: Sendable, Hashable {
  /// Nothing was done: a dry run, which found the job in a state from which it can be changed so.
  case meant(JobState, JobChange)
  /// It is cancelled.
  case cancelled
  /// It waits again and counts in this month.
  case requeued(Period)
  /// The user's limit of the present month is reached.
  case quota
  /// It has ended, or not failed; the word says which.
  case untouched(String)
  /// Somebody else is just changing it.
  case busy
  /// A worker still has it in hand, or somebody is just changing it.
  case held

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
    case .meant(let state, .retry), .meant(let state, .uncancel): "\(state.rawValue): would be queued again"
    case .cancelled: "cancelled"
    case .requeued(let period): "queued again, counts in \(period)"
    case .quota: "not queued: the user's limit of this month is reached"
    case .untouched(let why): "unchanged: \(Self.reasons[why] ?? why)"
    case .busy: "unchanged: somebody else is changing it, or submits for its user; try again"
    case .held:
      "unchanged: a worker still has it in hand, or somebody is changing it; try again in some seconds"
    }
  }

  /// What to do next where it was not changed; nil where it was, or where `text` says so.
  var advice: String? {
    switch self {
    case .meant, .cancelled, .requeued, .busy, .held, .untouched("image_gone"): nil
    case .quota: "Wait for the next month, or have the office raise the limit of the user's plan."
    case .untouched("too_late"): "Submit the picture anew."
    case .untouched("unknown"): "Look for its number again: the job is removed, or another login's."
    case .untouched("erased"): "Nothing can be done: what was kept of the person is gone."
    case .untouched("dead"): "An operator can retry it."
    case .untouched: "Look at its state: it has ended meanwhile, or somebody else has changed it."
    }
  }

  private static let reasons = [
    "finished": "it was analysed before", "dead": "it is dead", "unknown": "there is no such job",
    "not_dead": "it is not dead, or there is no such job",
    "image_gone": "its image was removed after the time for which images are kept; submit the picture anew",
    "succeeded": "it was analysed before",
    "cancelled": "it was cancelled before", "waiting": "it is waiting", "scheduled": "it is scheduled",
    "running": "it is running", "open": "it has not ended",
    "not_cancelled": "it is not cancelled", "too_late": "it was cancelled more than a day ago",
    "erased": "its person was erased",
  ]
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

  /// Changes jobs, in the order in which they are given; answers what became of each.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  func change(
    _ jobs: [JobID], _ change: JobChange, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> [(job: JobID, outcome: JobChangeOutcome)] {
    var outcomes: [(job: JobID, outcome: JobChangeOutcome)] = []
    var rest = jobs[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.callSize))
      rest = rest.dropFirst(part.count)
      let answers = try await changed(part, change, by: actor)
      outcomes += part.map { ($0, answers[$0] ?? .untouched("unknown")) }
    }
    return outcomes
  }

  private func changed(
    _ jobs: [JobID], _ change: JobChange, by actor: AuditActor?
  ) async throws(JobQueueError) -> [JobID: JobChangeOutcome] {
    switch change {
    case .cancel:
      try await cancel(jobs, by: actor).mapValues { outcome in
        switch outcome {
        case .cancelled: .cancelled
        case .busy: .busy
        case let other: .untouched(other.rawValue)
        }
      }
    case .retry:
      try await retryDead(jobs, by: actor).mapValues { outcome in
        switch outcome {
        case .requeued(let period): .requeued(period)
        case .quota: .quota
        case .imageGone: .untouched("image_gone")
        case .busy: .busy
        case .notDead: .untouched("not_dead")
        }
      }
    case .uncancel:
      try await uncancel(jobs, by: actor).mapValues { outcome in
        switch outcome {
        case .requeued(let period): .requeued(period)
        case .quota: .quota
        case .busy: .held
        case .untouched(let reason): .untouched(reason.rawValue)
        }
      }
    }
  }
}
