#if DEBUG
  public import AnalysisCore

  /// Which failpoints do what, and at which time that they are reached.
  ///
  /// A value: who reaches a failpoint is told the actions and carries them out.
  public struct FailpointPlan: Sendable, Equatable {
    /// One `name(job=ID)=action@n` of the plan.
    public struct Rule: Sendable, Equatable {
      /// Where.
      public var failpoint: Failpoint
      /// Only when it is about this job; nil for every job.
      public var job: JobID?
      /// What happens.
      public var action: FailpointAction
      /// At which time that the rule's failpoint is reached, from 1; nil for every time.
      public var occasion: Int?

      /// A rule with its parts.
      public init(_ failpoint: Failpoint, job: JobID? = nil, _ action: FailpointAction, occasion: Int? = nil)
      {
        self.failpoint = failpoint
        self.job = job
        self.action = action
        self.occasion = occasion
      }
    }

    /// The rules, in the order in which they were given.
    public let rules: [Rule]
    /// How often each rule's failpoint was reached.
    private var counts: [Int]

    /// A plan of which nothing has happened yet.
    public init(_ rules: [Rule]) {
      self.rules = rules
      counts = Array(repeating: 0, count: rules.count)
    }

    /// Takes note that a failpoint is reached, and says what is to happen there.
    ///
    /// - Parameter jobs: The jobs that it is about.
    public mutating func reached(_ failpoint: Failpoint, jobs: [JobID] = []) -> [FailpointAction] {
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
#endif
