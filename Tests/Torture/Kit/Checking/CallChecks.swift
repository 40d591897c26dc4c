import Support

/// How often the server crashed, which may cost claims that it had not written.
struct ServerCrashes: Sendable, Equatable {
  var count = 0
  /// How many jobs all workers together may have held at each of them, in sum.
  var held = 0
}

/// Compares the calls in the endpoint's own log with the attempts that the database has written down.
struct CallChecks {
  let facts: DatabaseFacts
  let calls: [EndpointCall]
  var crashes = ServerCrashes()

  /// The counts, in calls.
  struct Counts: Sendable, Equatable {
    var calls = 0
    /// Calls that were answered by an analysis.
    var analyses = 0
    /// Results that are stored.
    var results = 0
    /// Analyses that stored nothing: late, cut off, or of a job that was cancelled.
    var unstored: Int { analyses - results }
    /// Calls of claims that the server lost in a crash.
    var lost = 0
  }

  var counts: Counts {
    Counts(
      calls: calls.count, analyses: calls.count { $0.wasAnalysis },
      results: facts.attempts.count { $0.failure == nil }, lost: lost)
  }

  func findings() -> [Finding] {
    [
      Finding("I3 one result", "a job has one result at most", broken: manyResults),
      Finding("I8 answered", "no result without an analysis of the endpoint", broken: unanswered),
      Finding(
        "I8 calls", "no more calls than attempts, and claims that the server lost", broken: tooManyCalls),
      Finding("I8 lost", "a crash of the server costs no more claims than workers hold", broken: tooManyLost),
      Finding("I8 unknown", "no call for a job that is not there", broken: unknownCalls),
      Finding("I8 key", "every call for a job carries the same key", broken: changedKeys),
    ]
  }

  // MARK: Parts

  /// The jobs that nothing but the workers answers.
  private var called: [DatabaseFacts.Job] { facts.jobs.filter { !$0.isStress } }
  private var callsOfJob: [String: [EndpointCall]] { Dictionary(grouping: calls, by: \.job) }
  private var attemptsOfJob: [JobID: [DatabaseFacts.Attempt]] {
    Dictionary(grouping: facts.attempts, by: \.job)
  }

  private var manyResults: [String] {
    attemptsOfJob.compactMap { job, attempts in
      let results = attempts.count { $0.failure == nil }
      return results > 1 ? "job \(job) has \(results) results" : nil
    }.sorted()
  }

  private var unanswered: [String] {
    let (calls, attempts) = (callsOfJob, attemptsOfJob)
    return called.compactMap { job in
      guard attempts[job.id]?.contains(where: { $0.failure == nil }) ?? false else { return nil }
      let answered = calls[job.callKey]?.contains(where: \.wasAnalysis) ?? false
      return answered ? nil : "job \(job.id) has a result, but the endpoint answered no analysis for it"
    }
  }

  /// How many calls were made for each job, and how many attempts and cancellations allow.
  ///
  /// An attempt makes one call, and one more before it when its token was refused. The call that was under way when
  /// its job was cancelled is nobody's attempt.
  private var callsAndAllowed: [(job: JobID, made: Int, allowed: Int)] {
    let (calls, attempts) = (callsOfJob, attemptsOfJob)
    return called.map { job in
      (
        job.id, calls[job.callKey]?.count { !$0.refusedToken } ?? 0,
        Self.known(attempts[job.id] ?? []) + job.undone + (job.place == .cancelled ? 1 : 0)
      )
    }
  }

  /// Each crash of the server may lose the claim under which a job was called for, once.
  private var tooManyCalls: [String] {
    callsAndAllowed.compactMap { job, made, allowed in
      made > allowed + crashes.count
        ? "job \(job) was called for \(made) times in \(allowed) attempts" : nil
    }
  }

  private var lost: Int { callsAndAllowed.reduce(0) { $0 + max(0, $1.made - $1.allowed) } }

  private var tooManyLost: [String] {
    lost > crashes.held
      ? ["\(lost) calls are of no attempt; in \(crashes.count) crashes workers held \(crashes.held) jobs"]
      : []
  }

  /// Attempts with a call. From twenty lines on, a line may stand for many of them.
  private static func known(_ attempts: [DatabaseFacts.Attempt]) -> Int {
    attempts.count < 20 ? attempts.count { $0.calls > 0 } : attempts.reduce(0) { $0 + $1.calls }
  }

  private var unknownCalls: [String] {
    let known = Set(facts.jobs.map(\.callKey))
    return callsOfJob.keys.filter { !known.contains($0) }.sorted().map {
      "the endpoint was called for '\($0)'"
    }
  }

  private var changedKeys: [String] {
    callsOfJob.compactMap { job, calls in
      let keys = Set(calls.compactMap(\.key).filter { !$0.hasPrefix(EndpointCall.planted) }).count
      return keys > 1 ? "job \(job) was called for under \(keys) keys" : nil
    }.sorted()
  }
}
