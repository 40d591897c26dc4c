import HTTPServing
import Queue
import Support

/// Changes of all jobs that match a filter.
///
/// The question names the jobs that were counted, and those alone are changed: what came to match since is left alone,
/// and so is what somebody else has changed meanwhile.
enum MatchingJobs {
  /// How many are changed at once.
  static let most = 2500
  /// How many pages of the list are looked through for them.
  private static let pages = 40

  static let actions = JobChange.allCases.map { change in
    DashboardAction(
      path: "/matching/\(change.rawValue)", section: .jobs, roles: change.roles,
      confirm: { request, context in try await confirm(change, request, context) },
      perform: { request, context in try await perform(change, request, context) })
  }

  /// Where a change of what a question means is asked for.
  static func path(_ change: JobChange, _ question: JobQuestion) -> String {
    question.address("/matching/\(change.rawValue)")
  }

  /// Which jobs an address means for a change.
  private static func question(
    _ change: JobChange, _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> JobQuestion {
    let question = try JobQuestion(request.query)
    guard !question.isOfAll else {
      throw PageFailure.invalid("Nothing narrows the choice, and not all jobs are changed at once.")
    }
    if try await context.jobRights().seesOwnAlone, !question.isOfLabel {
      throw JobQuestion.lacksLabel(context)
    }
    if let state = question.filter.state, !change.states.contains(state) {
      throw PageFailure.invalid("A job that is \(state.rawValue) cannot be changed so.")
    }
    return question
  }

  private static func confirm(
    _ change: JobChange, _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> PageConfirmation {
    let question = try await question(change, request, context)
    let directory = context.jobs
    let found = try await directory.jobs(
      try await question.filter(directory), for: change, limit: most + 1, pages: pages)
    let jobs = found.jobs.prefix(most)
    guard !jobs.isEmpty else {
      throw PageFailure(
        status: 404, title: "No such jobs", message: "No job matches that can be changed so.",
        advice: "Look at the list again: it may have been done already.")
    }
    let more: HTML? =
      found.jobs.count <= most && found.isWhole
      ? nil
      : .notice(
        "warn",
        """
        There are more, or may be. These are \(jobs.count) of them; come again for the rest, or use \
        analysisctl jobs \(change.rawValue).
        """)
    return PageConfirmation(
      title: "\(verb(change)) \(counted(jobs.count))?",
      content: """
        <p>Meant: \(question.description.shortened(to: 300)).</p>
        <p>\(change.consequences(jobs.count, undoneBy: "where it is shown, and all in the list of cancelled jobs"))</p>
        <p>Only the jobs that were counted are changed; what comes to match later is not.</p>
        \(more)
        """,
      button: "\(verb(change)) \(counted(jobs.count))", back: question.address("/jobs"),
      fields: [("jobs", JobNumbers.text(jobs))])
  }

  private static func perform(
    _ change: JobChange, _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> DashboardAction.Outcome {
    guard let jobs = request.form["jobs"].flatMap({ JobNumbers.read($0, atMost: most) }), !jobs.isEmpty else {
      throw PageFailure.invalid("The form does not name the jobs that were counted.")
    }
    let question = try await question(change, request, context)
    // The form comes from the browser, and may name jobs that this login does not see.
    let outcomes = try await change.apply(to: jobs, request, context)
    // The job that named the cause is not dead any more.
    let path = question.like == nil ? question.address("/jobs") : Section.failures.path
    return .init(message: Message(outcomes, text: summary(outcomes)), path: path)
  }

  /// `3089 jobs: cancelled. 2 jobs: unchanged: it was analysed before.`
  static func summary(_ outcomes: [JobChangeOutcome]) -> String {
    let counts = Dictionary(grouping: outcomes.map(\.text)) { $0 }.mapValues(\.count)
    return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\(counted($0.value)): \($0.key)." }.joined(separator: " ")
  }

  private static func counted(_ count: Int) -> String { count == 1 ? "1 job" : "\(count) jobs" }

  private static func verb(_ change: JobChange) -> String {
    switch change {
    case .retry: "Retry"
    case .cancel: "Cancel"
    case .uncancel: "Queue again"
    }
  }
}

/// Numbers of jobs in a field of a form: the first one and what each further one is more than the one before, so that
/// thousands fit.
enum JobNumbers {
  /// The field of jobs in the order of their numbers.
  static func text(_ jobs: some Sequence<JobID>) -> String {
    var last: Int64 = 0
    return jobs.map { job in
      defer { last = job.value }
      return String(job.value - last, radix: 36)
    }.joined(separator: ".")
  }

  /// The jobs of a field; nil where it is none.
  static func read(_ text: String, atMost most: Int) -> [JobID]? {
    let parts = text.split(separator: ".", maxSplits: most, omittingEmptySubsequences: false)
    guard parts.count <= most else { return nil }
    var last: Int64 = 0
    var jobs: [JobID] = []
    for part in parts {
      guard let step = Int64(part, radix: 36), step > 0 else { return nil }
      let (sum, isTooMuch) = last.addingReportingOverflow(step)
      guard !isTooMuch else { return nil }
      last = sum
      jobs.append(JobID(last))
    }
    return jobs
  }
}
