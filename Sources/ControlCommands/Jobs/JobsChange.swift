import Administration
import AnalysisCore
import CommandLineTool
import Formatting
import FoundationEssentials
import JobQueue
import PostgreSQL

/// What `analysisctl jobs retry`, `analysisctl jobs cancel` and `analysisctl jobs uncancel` do.
enum JobsChange: String, Sendable {
  case retry, cancel, uncancel

  static let dryRun = Flag("dry-run", help: "Only show which jobs are meant.")
  static let limit = Option("limit", .int(in: 1...1_000_000), default: 10_000, help: "How many at most.")
  static let jobs = Argument(repeating: "job", .jobID, help: "Jobs by number; none with a filter.")
  static let inputs = JobFilterOptions.all + [limit, dryRun, Confirmation.yes, ReasonOption.reason, jobs]

  /// The states in which a job can be changed so.
  var states: [JobState] {
    switch self {
    case .retry: [.dead]
    case .cancel: [.waiting, .scheduled, .running]
    case .uncancel: [.cancelled]
    }
  }

  /// Asks before many jobs are changed.
  private func confirm(_ count: Int, _ session: ControlSession) async throws {
    guard count > Confirmation.few else { return }
    let question =
      switch self {
      case .retry:
        """
        \(count) dead jobs are to be queued again. Each takes a unit of its user's present month.
        Queue them?
        """
      case .cancel:
        """
        \(count) jobs are to be cancelled. What workers bring of those that run is dropped. For a day each can be \
        queued again with analysisctl jobs uncancel.
        Cancel them?
        """
      case .uncancel:
        """
        \(count) cancelled jobs are to be queued again. Each takes a unit of its user's present month.
        Queue them?
        """
      }
    try await Confirmation.require(question, session)
  }

  func run(_ context: ControlContext) async throws -> ExitCode {
    let (choice, isDryRun) = (try JobsChoice(self, context), try context[Self.dryRun])
    return try await context.withSession { session in
      let changer = JobsChanger(change: self, database: session.database, actor: try session.actor)
      let jobs = try await changer.jobs(choice)
      if !isDryRun { try await confirm(jobs.count, session) }
      let response = try await isDryRun ? changer.meant(jobs) : changer.run(jobs)
      try session.view.show(response)
      return response.exitCode
    }
  }
}

/// The jobs to be changed: by number, or by what they have in common.
enum JobsChoice: Sendable, Equatable {
  case jobs([JobID])
  case selection(JobSelection, limit: Int)

  init(_ change: JobsChange, _ context: ControlContext) throws {
    let jobs = try context[JobsChange.jobs]
    let selection = try JobSelection(context)
    if !jobs.isEmpty, !selection.isOfAll {
      throw CommandFailure.usage("jobs are given by number and by a filter", advice: "Give one of the two.")
    }
    if jobs.isEmpty, selection.isOfAll {
      throw CommandFailure.usage(
        "no job is named",
        advice:
          "Give the jobs' numbers, or at least one of --user, --state, --month, --type, --batch and --reference."
      )
    }
    if let state = selection.state, !change.states.contains(state) {
      let states = change.states.map(\.rawValue).joined(separator: ", ")
      throw CommandFailure.usage(
        "a job that is \(state.rawValue) cannot be changed so", advice: "Possible: \(states).")
    }
    self = jobs.isEmpty ? .selection(selection, limit: try context[JobsChange.limit]) : .jobs(jobs)
  }
}

/// Retries or cancels jobs, or undoes cancellations.
struct JobsChanger: Sendable {
  let change: JobsChange
  let database: ConnectionPool
  /// Who does it, for the audit.
  let actor: AuditActor

  /// How many jobs one call to the database changes.
  private static let callSize = 500

  /// Changes the jobs.
  func run(_ jobs: [JobID]) async throws -> JobsChangeResponse {
    var lines: [JobsChangeResponse.Line] = []
    var rest = jobs[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.callSize))
      rest = rest.dropFirst(part.count)
      lines += try await changed(part)
    }
    return JobsChangeResponse(lines: lines)
  }

  /// The jobs that are meant, by number.
  func jobs(_ choice: JobsChoice) async throws -> [JobID] {
    switch choice {
    case .jobs(let jobs): return Set(jobs).sorted()
    case .selection(let selection, let limit):
      var filter = try await selection.filter(database)
      let states = filter.state.map { [$0] } ?? change.states
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
      found += page.jobs.filter(isRecent).map(\.id)
      guard let next = page.next else { break }
      cursor = next
    }
    return found
  }

  /// Whether a job ended so lately that the change is possible; the server decides by its own clock.
  private func isRecent(_ job: JobSummary) -> Bool {
    guard change == .uncancel, let ended = job.finishedAt else { return true }
    return ended > Date().timeIntervalSince1970 - JobDirectory.uncancelTime
  }

  /// Says which of the jobs would be changed.
  func meant(_ jobs: [JobID]) async throws -> JobsChangeResponse {
    let states = try await JobDirectory(database).states(jobs)
    return JobsChangeResponse(
      lines: jobs.map { job in
        guard let state = states[job], change.states.contains(state) else {
          return .init(job: job, outcome: .untouched(states[job]?.rawValue ?? "unknown"))
        }
        return .init(job: job, outcome: .meant(state, change))
      })
  }

  private func changed(_ jobs: [JobID]) async throws -> [JobsChangeResponse.Line] {
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
    case .uncancel:
      let outcomes = try await directory.uncancel(jobs, by: actor)
      return jobs.map { job in
        switch outcomes[job] ?? .untouched(.unknown) {
        case .requeued(let period): .init(job: job, outcome: .requeued(period))
        case .quota: .init(job: job, outcome: .quota)
        case .busy: .init(job: job, outcome: .held)
        case .untouched(let reason): .init(job: job, outcome: .untouched(reason.rawValue))
        }
      }
    }
  }
}

/// What became of jobs that were to be changed.
struct JobsChangeResponse: Sendable, Equatable, Presentable {
  enum Outcome: Sendable, Equatable {
    /// Nothing was done: a dry run, which found the job in a state from which it can be changed so.
    case meant(JobState, JobsChange)
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
  }

  struct Line: Sendable, Equatable {
    let job: JobID
    let outcome: Outcome

    var json: JSONValue {
      switch outcome {
      case .meant(let state, _): ["job": .id(job), "outcome": "dry_run", "state": .string(state.rawValue)]
      case .cancelled: ["job": .id(job), "outcome": "cancelled"]
      case .requeued(let period): ["job": .id(job), "outcome": "requeued", "month": .month(period)]
      case .quota: ["job": .id(job), "outcome": "quota"]
      case .untouched(let why): ["job": .id(job), "outcome": .string(why)]
      case .busy, .held: ["job": .id(job), "outcome": "busy"]
      }
    }
  }

  let lines: [Line]

  /// As for a submit: 3 where the limit alone stood in the way, 4 where anything else did; 75 where some are only to
  /// be tried again.
  var exitCode: ExitCode {
    if lines.isEmpty { return .nothingToDo }
    let isUntouched = lines.contains { if case .untouched = $0.outcome { true } else { false } }
    if isUntouched { return .refused }
    if lines.contains(where: { $0.outcome == .busy || $0.outcome == .held }) { return .tryLater }
    return lines.contains { $0.outcome == .quota } ? .quotaRefused : .done
  }

  var json: JSONValue {
    ["jobs": .array(lines.map(\.json))]
  }

  /// A line for each of a few jobs; of more, a line for each thing that became of them.
  func text(width: Int?, paint: Paint) -> String {
    guard !lines.isEmpty else { return "No such jobs.\n" }
    guard lines.count > Confirmation.few else {
      return lines.map { "\($0.job) \(Self.message($0.outcome, paint))\n" }.joined()
    }
    var messages: [String] = []
    var jobs: [String: [JobID]] = [:]
    for line in lines {
      let message = Self.message(line.outcome, paint)
      if jobs[message] == nil { messages.append(message) }
      jobs[message, default: []].append(line.job)
    }
    return messages.map { Self.summary($0, jobs[$0] ?? []) }.joined()
  }

  /// `3089 jobs: cancelled (1, 2, 3 and others)`.
  private static func summary(_ message: String, _ jobs: [JobID]) -> String {
    let named = jobs.prefix(3).map(\.description).joined(separator: ", ")
    return
      "\(jobs.count) \(jobs.count == 1 ? "job" : "jobs"): \(message) (\(named)\(jobs.count > 3 ? " and others" : ""))\n"
  }

  private static func message(_ outcome: Outcome, _ paint: Paint) -> String {
    switch outcome {
    case .meant(let state, .cancel): "\(state.rawValue): would be cancelled"
    case .meant(let state, .retry), .meant(let state, .uncancel): "\(state.rawValue): would be queued again"
    case .cancelled: paint.green("cancelled")
    case .requeued(let period): paint.green("queued again") + ", counts in \(period)"
    case .quota: paint.red("not queued: the user's limit of this month is reached")
    case .untouched(let why): paint.red("unchanged: \(reasons[why] ?? printable(why))")
    case .busy: paint.red("unchanged: somebody else is changing it; try again")
    case .held:
      paint.red(
        "unchanged: a worker still has it in hand, or somebody is changing it; try again in some seconds")
    }
  }

  private static let reasons = [
    "finished": "it was analysed before", "dead": "it is dead", "unknown": "there is no such job",
    "not_dead": "it is not dead, or there is no such job",
    "image_gone": "its image was removed after the time for which images are kept; submit the picture anew",
    "succeeded": "it was analysed before",
    "cancelled": "it was cancelled before", "waiting": "it is waiting", "scheduled": "it is scheduled",
    "running": "it is running",
    "not_cancelled": "it is not cancelled", "too_late": "it was cancelled more than a day ago",
    "erased": "its person was erased",
  ]
}
