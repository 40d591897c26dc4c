#if DEBUG
  internal import Support

  /// Which failpoints do what, and at which time that they are reached.
  ///
  /// A value: who reaches a failpoint is told the actions and carries them out.
  struct FailpointPlan: Sendable, Equatable {
    /// One `name(job=ID)=action@n` of the plan.
    struct Rule: Sendable, Equatable {
      var failpoint: Failpoint
      /// Only when it is about this job; nil for every job.
      var job: JobID?
      var action: FailpointAction
      /// At which time that the rule's failpoint is reached, from 1; nil for every time.
      var occasion: Int?

      /// A rule with its parts.
      init(_ failpoint: Failpoint, job: JobID? = nil, _ action: FailpointAction, occasion: Int? = nil) {
        self.failpoint = failpoint
        self.job = job
        self.action = action
        self.occasion = occasion
      }
    }

    /// The rules, in the order in which they were given.
    let rules: [Rule]
    /// How often each rule's failpoint was reached.
    private var counts: [Int]

    /// A plan of which nothing has happened yet.
    init(_ rules: [Rule]) {
      self.rules = rules
      counts = Array(repeating: 0, count: rules.count)
    }

    /// Takes note that a failpoint is reached, and says what is to happen there.
    ///
    /// - Parameter jobs: The jobs that it is about.
    mutating func reached(_ failpoint: Failpoint, jobs: [JobID] = []) -> [FailpointAction] {
      var actions: [FailpointAction] = []
      for (index, rule) in rules.enumerated() where rule.failpoint == failpoint {
        if let job = rule.job, !jobs.contains(job) { continue }
        counts[index] += 1
        if let occasion = rule.occasion, occasion != counts[index] { continue }
        actions.append(rule.action)
      }
      return actions
    }
  }

  /// What is wrong with the text of a plan.
  struct FailpointTextError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong, where, and what may stand there.
    public let description: String
  }

  extension FailpointPlan {
    /// Reads a plan: rules with commas between them, each `name=action`, for instance
    /// `after-claim=kill@3,before-upload(job=12)=crash`.
    ///
    /// After the name, `(job=ID)` confines the rule to one job; after the action, `@n` to the nth time. The
    /// actions are `kill`, `stop`, `crash`, `error` and `delay:MS`.
    init(_ text: String) throws(FailpointTextError) {
      var rules: [Rule] = []
      for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        rules.append(try Rule(Self.trimmed(part)))
      }
      self.init(rules)
    }

    private static func trimmed(_ text: Substring) -> Substring {
      var text = text
      while text.first == " " { text.removeFirst() }
      while text.last == " " { text.removeLast() }
      return text
    }
  }

  extension FailpointPlan.Rule {
    fileprivate init(_ text: Substring) throws(FailpointTextError) {
      // The last: a condition has one of its own.
      guard let equals = text.lastIndex(of: "=") else {
        throw FailpointTextError(description: "'\(text)' is not name=action.")
      }
      let (failpoint, job) = try Self.target(text[..<equals])
      let (action, occasion) = try Self.event(text[text.index(after: equals)...])
      guard failpoint.allows(action) else {
        throw FailpointTextError(
          description: "'\(text)': \(failpoint.rawValue) allows neither waiting nor failing there.")
      }
      guard job == nil || failpoint.knowsJobs else {
        throw FailpointTextError(description: "'\(text)': \(failpoint.rawValue) is about no job.")
      }
      self.init(failpoint, job: job, action, occasion: occasion)
    }

    /// `name` or `name(job=ID)`.
    private static func target(_ text: Substring) throws(FailpointTextError) -> (Failpoint, JobID?) {
      var name = text
      var job: JobID?
      if let opening = text.firstIndex(of: "(") {
        name = text[..<opening]
        let condition = text[opening...]
        let prefix = "(job="
        guard condition.hasPrefix(prefix), condition.hasSuffix(")"),
          let id = JobID(String(condition.dropFirst(prefix.count).dropLast()))
        else { throw FailpointTextError(description: "'\(condition)' is not (job=ID).") }
        job = id
      }
      guard let failpoint = Failpoint(rawValue: String(name)) else {
        let names = Failpoint.allCases.map(\.rawValue).joined(separator: ", ")
        throw FailpointTextError(description: "There is no failpoint '\(name)'. There are: \(names).")
      }
      return (failpoint, job)
    }

    /// `action` or `action@n`.
    private static func event(_ text: Substring) throws(FailpointTextError) -> (FailpointAction, Int?) {
      var name = text
      var occasion: Int?
      if let at = text.firstIndex(of: "@") {
        name = text[..<at]
        guard let number = Int(text[text.index(after: at)...]), number > 0 else {
          throw FailpointTextError(description: "'\(text)': after @ stands which time, from 1.")
        }
        occasion = number
      }
      return (try action(name), occasion)
    }

    private static func action(_ text: Substring) throws(FailpointTextError) -> FailpointAction {
      switch text {
      case "kill": return .kill
      case "stop": return .stop
      case "crash": return .crash
      case "error": return .error
      default: break
      }
      let prefix = "delay:"
      if text.hasPrefix(prefix), let number = Int(text.dropFirst(prefix.count)),
        (0...3_600_000).contains(number)
      {
        return .delay(milliseconds: number)
      }
      throw FailpointTextError(
        description: "There is no action '\(text)'. There are: kill, stop, crash, error, delay:MS.")
    }
  }
#endif
