import CommandLineTool
import PostgreSQL
import Queue
import Support

/// What `analysisctl jobs retry`, `analysisctl jobs cancel` and `analysisctl jobs uncancel` do.
extension JobChange {
  static let dryRun = Flag("dry-run", help: "Only show which jobs are meant.")
  static let limit = Option("limit", .int(in: 1...1_000_000), default: 10_000, help: "How many at most.")
  static let jobs = Argument(repeating: "job", .jobID, help: "Jobs by number; none with a filter.")
  static let inputs = JobFilterOptions.all + [limit, dryRun, Confirmation.yes, ReasonOption.reason, jobs]

  /// Asks before many jobs are changed.
  private func confirm(_ count: Int, _ session: ControlSession) async throws {
    guard count > Confirmation.few else { return }
    try await Confirmation.require(
      "\(consequences(count, undoneBy: "with analysisctl jobs uncancel"))\n\(self == .cancel ? "Cancel" : "Queue") them?",
      session)
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

  init(_ change: JobChange, _ context: ControlContext) throws {
    let jobs = try context[JobChange.jobs]
    var selection = try JobSelection(context)
    if change == .retry { selection.cause = try context[JobFilterOptions.cause] }
    if !jobs.isEmpty, !selection.isOfAll {
      throw CommandFailure.usage("jobs are given by number and by a filter", advice: "Give one of the two.")
    }
    if jobs.isEmpty, selection.isOfAll {
      throw CommandFailure.usage(
        "no job is named",
        advice:
          """
          Give the jobs' numbers, or at least one of --user, --state, --month, --type, --batch\(change == .retry ? ", --cause" : "") \
          and --reference.
          """
      )
    }
    if let state = selection.state, !change.states.contains(state) {
      let states = change.states.map(\.rawValue).joined(separator: ", ")
      throw CommandFailure.usage(
        "'jobs \(change.rawValue)' does nothing to a job that is \(state.rawValue)",
        advice: "Possible: \(states).")
    }
    self = jobs.isEmpty ? .selection(selection, limit: try context[JobChange.limit]) : .jobs(jobs)
  }
}

/// Retries or cancels jobs, or undoes cancellations.
struct JobsChanger: Sendable {
  let change: JobChange
  let database: ConnectionPool
  /// Who does it, for the audit.
  let actor: AuditActor

  func run(_ jobs: [JobID]) async throws -> JobsChangeResponse {
    let outcomes = try await JobDirectory(database).change(jobs, change, by: actor)
    return JobsChangeResponse(
      lines: jobs.map { .init(job: $0, outcome: outcomes[$0] ?? .untouched(.unknown)) })
  }

  /// The jobs that are meant, by number.
  func jobs(_ choice: JobsChoice) async throws -> [JobID] {
    switch choice {
    case .jobs(let jobs): Set(jobs).sorted()
    case .selection(let selection, let limit):
      try await JobDirectory(database).jobs(
        try await selection.filter(database), for: change, limit: limit
      ).jobs
    }
  }

  /// Says which of the jobs would be changed.
  func meant(_ jobs: [JobID]) async throws -> JobsChangeResponse {
    let states = try await JobDirectory(database).states(jobs)
    return JobsChangeResponse(
      lines: jobs.map { job in
        guard let state = states[job], change.states.contains(state) else {
          return .init(job: job, outcome: .untouched(states[job].map { .init($0) } ?? .unknown))
        }
        return .init(job: job, outcome: .meant(state, change))
      })
  }
}

/// What became of jobs that were to be changed.
struct JobsChangeResponse: Sendable, Equatable, Presentable {
  typealias Outcome = JobChangeOutcome

  struct Line: Sendable, Equatable {
    let job: JobID
    let outcome: Outcome

    var json: JSONValue {
      let word = JSONValue.string(outcome.word)
      return switch outcome {
      case .meant(let state, _): ["job": .id(job), "outcome": word, "state": .string(state.rawValue)]
      case .requeued(let period): ["job": .id(job), "outcome": word, "month": .month(period)]
      default: ["job": .id(job), "outcome": word]
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
    let isBusy = lines.contains { if case .busy = $0.outcome { true } else { false } }
    if isBusy { return .tryLater }
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
    let text = printable(outcome.text)
    return switch outcome {
    case .meant: text
    case .cancelled, .requeued: paint.green(text)
    case .quota, .untouched, .busy: paint.red(text)
    }
  }
}
