import Administration
import AnalysisCore
import CommandLineTool
import JobQueue
import PostgreSQL

/// What became of jobs that were to be retried or cancelled.
struct JobsChangeResponse: Sendable, Equatable {
  enum Outcome: Sendable, Equatable {
    /// Nothing was done: a dry run, which found the job in a state from which it can be changed so.
    case meant(JobState, JobsChangeRequest.Change)
    case cancelled
    /// It waits again and counts in this month.
    case requeued(Period)
    /// The user's limit of the present month is reached.
    case quota
    /// It has ended, or not failed; the word says which.
    case untouched(String)
    /// Somebody else is just changing it.
    case busy
  }

  struct Line: Sendable, Equatable {
    let job: JobID
    let outcome: Outcome
  }

  let lines: [Line]

  /// As for a submit: 3 where the limit alone stood in the way, 4 where anything else did; 75 where some are only to
  /// be tried again.
  var exitCode: ExitCode {
    if lines.isEmpty { return .nothingToDo }
    let isUntouched = lines.contains { if case .untouched = $0.outcome { true } else { false } }
    if isUntouched { return .refused }
    if lines.contains(where: { $0.outcome == .busy }) { return .tryLater }
    return lines.contains { $0.outcome == .quota } ? .quotaRefused : .done
  }
}

/// Retries or cancels jobs.
struct JobsChangeInteractor: Sendable {
  let database: ConnectionPool
  /// Who does it, for the audit.
  let actor: AuditActor

  /// How many jobs one call to the database changes.
  private static let callSize = 500

  func answer(_ request: JobsChangeRequest) async throws -> JobsChangeResponse {
    let jobs = try await jobs(request)
    if request.isDryRun { return try await meant(jobs, request.change) }
    var lines: [JobsChangeResponse.Line] = []
    var rest = jobs[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.callSize))
      rest = rest.dropFirst(part.count)
      lines += try await change(part, request.change)
    }
    return JobsChangeResponse(lines: lines)
  }

  /// The jobs that are meant, by number.
  private func jobs(_ request: JobsChangeRequest) async throws -> [JobID] {
    switch request.choice {
    case .jobs(let jobs): return Set(jobs).sorted()
    case .selection(let selection, let limit):
      var filter = try await MonthResolver(database: database).filter(selection)
      let states = filter.state.map { [$0] } ?? request.change.states
      var found: Set<JobID> = []
      for state in states {
        filter.state = state
        found.formUnion(try await list(filter, limit: limit - found.count))
      }
      return found.sorted()
    }
  }

  private func list(_ filter: JobFilter, limit: Int) async throws -> [JobID] {
    var found: [JobID] = []
    var cursor: JobCursor?
    while found.count < limit {
      let page = try await JobDirectory(database).list(
        filter, after: cursor, limit: min(Self.callSize, limit - found.count))
      found += page.jobs.map(\.id)
      guard let next = page.next else { break }
      cursor = next
    }
    return found
  }

  private func meant(_ jobs: [JobID], _ change: JobsChangeRequest.Change) async throws -> JobsChangeResponse {
    let states = try await JobDirectory(database).states(jobs)
    return JobsChangeResponse(
      lines: jobs.map { job in
        guard let state = states[job], change.states.contains(state) else {
          return .init(job: job, outcome: .untouched(states[job]?.rawValue ?? "unknown"))
        }
        return .init(job: job, outcome: .meant(state, change))
      })
  }

  private func change(
    _ jobs: [JobID], _ change: JobsChangeRequest.Change
  ) async throws -> [JobsChangeResponse.Line] {
    let directory = JobDirectory(database)
    switch change {
    case .cancel:
      let outcomes = try await directory.cancel(jobs, by: actor)
      return jobs.map { job -> JobsChangeResponse.Line in
        switch outcomes[job] ?? .unknown {
        case .cancelled: .init(job: job, outcome: .cancelled)
        case .busy: .init(job: job, outcome: .busy)
        case let other: .init(job: job, outcome: .untouched(other.rawValue))
        }
      }
    case .retry:
      let outcomes = try await directory.retryDead(jobs, by: actor)
      return jobs.map { job in
        switch outcomes[job] {
        case .requeued(let period): .init(job: job, outcome: .requeued(period))
        case .quota: .init(job: job, outcome: .quota)
        case .imageGone: .init(job: job, outcome: .untouched("image_gone"))
        case .notDead, nil: .init(job: job, outcome: .untouched("not_dead"))
        }
      }
    }
  }
}
