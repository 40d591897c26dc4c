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
    guard !question.isOfAll || question.chosen != nil else {
      throw PageFailure.invalid("Nothing narrows the choice, and not all jobs are changed at once.")
    }
    guard question.chosen?.isEmpty != true else {
      throw PageFailure.invalid("No job was chosen: mark some of the list.")
    }
    if try await context.jobRights().seesOwnAlone, !question.isOfLabel {
      throw JobQuestion.lacksLabel(context)
    }
    if let state = question.filter.state, !change.states.contains(state) {
      throw PageFailure.invalid(
        "The action '\(change.rawValue)' does nothing to a job that is \(state.rawValue).")
    }
    return question
  }

  private static func confirm(
    _ change: JobChange, _ request: HTTPRequest, _ context: DashboardContext
  ) async throws -> PageConfirmation {
    let question = try await question(change, request, context)
    let directory = context.jobs
    let found: (jobs: [JobID], isWhole: Bool)
    if let chosen = question.chosen {
      let states = try await change.found(chosen, context)
      found = (chosen.filter { states[$0]?.isMeant ?? false }.sorted(), true)
    } else {
      let matching = try await directory.jobs(
        try await question.filter(directory), for: change, limit: most + 1, pages: pages)
      found = (matching.jobs, matching.isWhole)
    }
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
      title: "\(change.title) \(counted(jobs.count))?",
      content: """
        <p>Meant: \(question.description.shortened(to: 300)).</p>
        <p>\(change.consequences(jobs.count, undoneBy: "where it is shown, and all in the list of cancelled jobs"))</p>
        <p>Only the jobs that were counted are changed; what comes to match later is not.</p>
        \(more)
        """,
      buttons: PageConfirmation.sure(
        "\(change.title) \(counted(jobs.count))", back: question.address("/jobs")),
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

/// Which jobs a page shows or an action means, as the address says it.
struct JobQuestion: Sendable, Equatable {
  /// The words of the address, as they were given; those that are empty are left out.
  private(set) var words: [String: String] = [:]
  private(set) var filter = JobFilter()
  /// A dead job: those that died of its cause are meant.
  private(set) var like: JobID?
  /// Those that were marked in a list; nil where all that the words mean are meant.
  private(set) var chosen: [JobID]?

  /// What a word of the address is: its name there, and what it is called where it cannot be understood.
  private static let names = ["user", "type", "state", "month", "batch", "reference", "cause", "like"]

  /// Reads the words of an address.
  ///
  /// - Throws: `PageFailure` where one cannot be understood.
  init(_ query: FormValues) throws(PageFailure) {
    for name in Self.names {
      let text = (query[name] ?? "").trimmingSpaces
      if !text.isEmpty { words[name] = text }
    }
    filter.user = try text("user", atMost: 200)
    filter.reference = try text("reference", atMost: 200)
    filter.kind = try value("type", "throat or ear") { AnalysisKind(rawValue: $0) }
    filter.state = try value("state", "a state, such as waiting") { JobState(rawValue: $0) }
    filter.month = try value("month", "a month, such as 2026-11") { Period($0) }
    filter.batch = try value("batch", "a batch, such as B17") { BatchID($0) }
    filter.cause = try value("cause", "a cause, such as server 500") { FailureCause($0) }
    like = try value("like", "a job's number") { JobID($0) }
    if query[Self.choice] != nil { chosen = try Self.chosen(query) }
    if filter.cause != nil || like != nil { try meanDead() }
  }

  /// The jobs of a state, or those that died of the same cause as one of them.
  init(state: JobState? = nil, batch: BatchID? = nil, like: JobID? = nil) {
    if let state { words["state"] = state.rawValue }
    if let batch { words["batch"] = batch.description }
    if let like { words["like"] = like.description }
    filter = JobFilter(state: like == nil ? state : .dead, batch: batch)
    self.like = like
  }

  /// What the address says where jobs were marked one by one, and the name of each.
  static let (choice, chosenJob) = ("chosen", "job")

  private static func chosen(_ query: FormValues) throws(PageFailure) -> [JobID] {
    let texts = query.pairs.filter { $0.name == chosenJob }.map(\.value)
    guard texts.count <= MatchingJobs.most else {
      throw .invalid("More jobs are marked than can be changed at once.")
    }
    let jobs = texts.compactMap { JobID($0) }
    guard jobs.count == texts.count else { throw .invalid("A marked job is no job's number.") }
    return Array(Set(jobs))
  }

  /// Whether anything narrows it.
  var isOfAll: Bool { words.isEmpty }

  /// Whether all jobs are meant, or those of a state.
  var isOfState: Bool { words.keys.allSatisfy { $0 == "state" } }

  /// The same of another state, or of all. Only dead jobs have a cause.
  func with(_ state: JobState?) -> JobQuestion {
    var question = self
    question.words["state"] = state?.rawValue
    question.filter.state = state
    if state != .dead { for name in ["cause", "like"] { question.words[name] = nil } }
    return question
  }

  /// Whether jobs are meant that a back-end finds as its own, without their causes.
  var isOfLabel: Bool {
    (filter.batch != nil || filter.reference != nil) && filter.cause == nil && like == nil
  }

  /// What is said to a back-end that names neither a batch nor a reference.
  static func lacksLabel(_ context: DashboardContext) -> PageFailure {
    PageFailure(
      status: 403, title: "Not allowed",
      message:
        "Login \(context.login) finds the jobs that it has submitted by their batch or reference alone.",
      advice: "Enter a batch or a reference, and no cause; the page Batches lists the batches.")
  }

  /// Whether dead jobs alone are meant: they are listed with their causes, those that died last first.
  var isOfDead: Bool { filter.state == .dead }

  /// The filter, with the cause of the job that it names.
  ///
  /// - Throws: `PageFailure` where that job is not dead any more.
  func filter(_ directory: JobDirectory) async throws -> JobFilter {
    guard let like else { return filter }
    guard let cause = try await directory.cause(of: like) else {
      throw PageFailure(
        status: 409, title: "No longer dead",
        message: "Job \(like), whose cause was asked for, is not dead, or there is no such job.",
        advice: "Look at the failures again.")
    }
    var filter = filter
    filter.cause = cause
    return filter
  }

  /// An address with these words, and others behind them.
  func address(_ path: String, _ others: [(String, String)] = []) -> String {
    HTML.address(path, Self.names.map { (name: $0, value: words[$0]) } + others.map { (name: $0, value: $1) })
  }

  /// The words as a sentence has them: `user anna, dead`.
  var description: String {
    guard chosen == nil else { return "those that were marked" }
    return Self.names.compactMap { name in
      words[name].map { name == "like" ? "of the cause of job \($0)" : "\(name) \($0)" }
    }.joined(separator: ", ")
  }

  private mutating func meanDead() throws(PageFailure) {
    if let state = filter.state, state != .dead {
      throw .invalid("Only dead jobs have a cause, and the state that was given is \(state.rawValue).")
    }
    filter.state = .dead
  }

  private func text(_ name: String, atMost most: Int) throws(PageFailure) -> String? {
    guard let text = words[name] else { return nil }
    guard text.unicodeScalars.count <= most else {
      throw .invalid("The \(name) has at most \(most) characters.")
    }
    return text
  }

  private func value<Value>(
    _ name: String, _ what: String, _ read: (String) -> Value?
  ) throws(PageFailure) -> Value? {
    guard let text = words[name] else { return nil }
    guard let value = read(text) else { throw .invalid("The \(name) is not \(what).") }
    return value
  }
}

extension String {
  /// Without spaces at either end.
  fileprivate var trimmingSpaces: String {
    var text = self[...]
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }

  /// So many characters of it, so that no name makes a page long: those that it is made of are counted, since one that
  /// is read may be of hundreds.
  func shortened(to count: Int) -> String {
    guard unicodeScalars.count > count else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.prefix(count - 1))) + "…"
  }
}
