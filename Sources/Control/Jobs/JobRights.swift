import HTTPServing
import Queue
import Support

/// What a login may see of jobs and do to them on the dashboard.
struct JobRights: Sendable, Equatable {
  /// The roles of which any sees the jobs of others, as `analysis.job_readers` has them.
  static let readers: [DatabaseRole] = [.operator, .clinician, .reviewer]

  /// Whether it changes every job that it sees, as an operator.
  let changesAll: Bool
  /// Whether it cancels what the same login has submitted, and undoes that, as a back-end.
  let changesOwn: Bool
  /// Whether it sees the jobs of others, each with its page.
  let seesAll: Bool

  init(_ login: DatabaseLogin) {
    changesAll = login.has(anyOf: [.operator])
    changesOwn = login.has(anyOf: [.submitter])
    seesAll = login.has(anyOf: Self.readers)
  }

  /// Whether it sees what the same login has submitted and nothing else: by batch or reference, no job with a page.
  var seesOwnAlone: Bool { changesOwn && !seesAll }

  /// Whether it may change jobs so.
  ///
  /// - Parameter own: Whether the same login has submitted them; false where that is not known.
  func may(_ change: JobChange, own: Bool) -> Bool {
    changesAll || (own && changesOwn && change.roles.contains(.submitter))
  }
}

extension JobChange {
  /// The roles of which any may change jobs so; a back-end those that it has submitted.
  var roles: [DatabaseRole] { self == .retry ? [.operator] : [.operator, .submitter] }

  /// What a link to it says, of one job.
  var title: String {
    switch self {
    case .retry: "Retry"
    case .cancel: "Cancel"
    case .uncancel: "Queue again"
    }
  }

  /// Changes jobs that this login sees. Those that somebody else has changed since the question was asked, so that they
  /// cannot be changed so any more, are left alone.
  func apply(
    to jobs: [JobID], _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> [JobChangeOutcome] {
    let found = try await found(jobs, context)
    let open = jobs.filter { found[$0]?.isMeant ?? false }
    let changed = try await context.jobs.change(
      open, self, by: context.actor(reason: try PageConfirmation.reason(request)))
    let left = Set(jobs).subtracting(open).map { JobChangeOutcome.untouched(found[$0]?.reason ?? .unknown) }
    return Array(changed.values) + left
  }

  /// The state of each of some jobs, and whether it can be changed so; jobs that the login does not see are left out. A
  /// back-end sees of its own how they have ended, and that they are open before.
  func found(
    _ jobs: [JobID], _ context: DashboardContext
  ) async throws -> [JobID: (reason: JobChangeOutcome.Reason, isMeant: Bool)] {
    guard try await context.jobRights().seesOwnAlone else {
      return try await context.jobs.states(jobs).mapValues { (.init($0), states.contains($0)) }
    }
    return try await context.jobs.ends(of: jobs).mapValues { end in
      end.map { (.init($0), states.contains($0)) } ?? (.open, self == .cancel)
    }
  }
}

extension Message {
  /// What became of jobs that were to be changed.
  init(_ outcomes: [JobChangeOutcome], text: String) {
    let undone = outcomes.filter { !$0.isDone }
    let advice = Set(undone.compactMap(\.advice)).sorted().joined(separator: " ")
    self.init(
      kind: undone.isEmpty ? .done : undone.count < outcomes.count ? .partly : .refused, text: text,
      advice: advice.isEmpty ? nil : advice)
  }
}
