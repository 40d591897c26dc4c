import AnalysisCore

/// Compares the calls in the endpoint's own log with the attempts that the database has written down.
struct CallChecks {
  let facts: DatabaseFacts
  let calls: [EndpointCall]

  /// The counts, in calls.
  struct Counts: Sendable, Equatable {
    var calls = 0
    /// Calls that were answered by an analysis.
    var analyses = 0
    /// Results that are stored.
    var results = 0
    /// Analyses that stored nothing: late, cut off, or of a job that was cancelled.
    var unstored: Int { analyses - results }
  }

  var counts: Counts {
    Counts(
      calls: calls.count, analyses: calls.count { $0.wasAnalysis },
      results: facts.attempts.count { $0.failure == nil })
  }

  func findings() -> [Finding] {
    [
      Finding("I3 one result", "a job has one result at most", broken: manyResults),
      Finding("I8 answered", "no result without an analysis of the endpoint", broken: unanswered),
      Finding("I8 calls", "no more calls than attempts", broken: tooManyCalls),
      Finding("I8 unknown", "no call for a job that is not there", broken: unknownCalls),
      Finding("I8 key", "every call for a job carries the same key", broken: changedKeys),
    ]
  }

  // MARK: Parts

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
    return facts.jobs.compactMap { job in
      guard attempts[job.id]?.contains(where: { $0.failure == nil }) ?? false else { return nil }
      let answered = calls[job.callKey]?.contains(where: \.wasAnalysis) ?? false
      return answered ? nil : "job \(job.id) has a result, but the endpoint answered no analysis for it"
    }
  }

  /// An attempt makes one call, and one more before it when its token was refused. The call that was under way when
  /// its job was cancelled is nobody's attempt.
  private var tooManyCalls: [String] {
    let (calls, attempts) = (callsOfJob, attemptsOfJob)
    return facts.jobs.compactMap { job in
      let made = calls[job.callKey]?.count { !$0.refusedToken } ?? 0
      let allowed = Self.known(attempts[job.id] ?? []) + job.undone + (job.place == .cancelled ? 1 : 0)
      return made > allowed ? "job \(job.id) was called for \(made) times in \(allowed) attempts" : nil
    }
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
