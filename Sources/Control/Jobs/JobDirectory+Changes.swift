public import PostgreSQL
public import Queue
public import Support

/// What cancelling a job came to.
public enum CancelOutcome: String, Sendable, CaseIterable, ColumnValue {
  /// It is cancelled, by this call or an earlier one.
  case cancelled
  /// It was analysed before.
  case finished
  /// It had died before.
  case dead
  /// There is no such job.
  case unknown
  /// Somebody else is just retrying or cancelling it and has not ended: to be tried again.
  case busy
}

/// What retrying a dead job came to.
public enum RetryOutcome: Sendable, Equatable {
  /// It waits again and counts in this month.
  case requeued(Period)
  /// The user's limit of the present month is reached.
  case quota
  /// Its image has been removed, after the time for which images are kept or with its person.
  case imageGone
  /// Somebody else is changing it, or submits just now for its user: to be tried again.
  case busy
  /// It is not dead, or there is no such job.
  case notDead
}

/// What undoing a cancellation came to.
public enum UncancelOutcome: Sendable, Equatable {
  /// It waits again and counts in this month.
  case requeued(Period)
  /// The user's limit of the present month is reached.
  case quota
  /// Nothing was done, for this reason.
  case untouched(Reason)
  /// A worker still holds it, or somebody else is changing it: to be tried again.
  case busy

  /// Why a job stays as it is.
  public enum Reason: String, Sendable, CaseIterable, ColumnValue {
    /// It was cancelled more than a day ago.
    case tooLate = "too_late"
    /// Its image has been removed.
    case imageGone = "image_gone"
    /// Its person has been erased.
    case erased
    /// It is not cancelled.
    case notCancelled = "not_cancelled"
    /// There is no such job.
    case unknown
  }
}

extension JobDirectory {
  /// Since when cancellations can be undone, by the server's clock, in seconds since 1970.
  func uncancelFrom() async throws(JobQueueError) -> Double {
    try await Statement(
      SQLFunction("uncancel_from", 0), as: Double.self, while: "asking which cancellations can be undone"
    ).run(on: database)
  }

  /// Cancels jobs and gives their quota units back. A running job is cancelled too: what its worker brings
  /// is not stored.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  public func cancel(
    _ jobs: [JobID], by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> [JobID: CancelOutcome] {
    let locations = try await shards.locations(of: jobs)
    var outcomes = Dictionary(
      jobs.map { ($0, CancelOutcome.unknown) }, uniquingKeysWith: { first, _ in first })
    for (shard, jobs) in Self.byShard(locations) {
      let answers = try await Statement(
        SQLFunction("cancel", 2), [.int16(shard), .array(jobs.map(\.value))], as: [Cancelled].self,
        while: "cancelling jobs"
      ).run(on: database, as: actor)
      for answer in answers { outcomes[answer.job] = answer.outcome }
    }
    return outcomes
  }

  private struct Cancelled: Decodable {
    let job: JobID
    let outcome: CancelOutcome
  }

  /// What became of a job that was to be queued again.
  private struct Requeued: Decodable {
    let job: JobID
    let outcome: String
    let period: Period?
  }

  /// Queues dead jobs again; each takes a unit of the present month, the lowest numbers first.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  public func retryDead(
    _ jobs: [JobID], by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> [JobID: RetryOutcome] {
    let locations = try await shards.locations(of: jobs)
    var outcomes = Dictionary(
      jobs.map { ($0, RetryOutcome.notDead) }, uniquingKeysWith: { first, _ in first })
    for (shard, jobs) in Self.byShard(locations) {
      outcomes.merge(try await retryDead(jobs, in: shard, by: actor)) { $1 }
    }
    return outcomes
  }

  /// Throws where this login may not cancel or retry jobs, also while there is none to be changed.
  func requireRight(toRetry: Bool) async throws(JobQueueError) {
    let none: [Parameter] = [.int16(0), .array([Int64]())]
    try await Statement(
      toRetry ? SQLFunction("retry_dead", 2) : SQLFunction("cancel", 2), none,
      while: toRetry ? "retrying dead jobs" : "cancelling jobs"
    ).run(on: database)
  }

  private func retryDead(
    _ jobs: [JobID], in shard: Int16, by actor: AuditActor?
  ) async throws(JobQueueError) -> [JobID: RetryOutcome] {
    try await Statement(
      SQLFunction("retry_dead", 2), [.int16(shard), .array(jobs.map(\.value))], as: [Requeued].self,
      while: "retrying dead jobs"
    ) { rows in
      var outcomes: [JobID: RetryOutcome] = [:]
      for row in rows {
        outcomes[row.job] =
          switch (row.outcome, row.period) {
          case ("requeued", let period?): .requeued(period)
          case ("quota", _): .quota
          case ("image_gone", _): .imageGone
          case ("busy", _): .busy
          default: .notDead
          }
      }
      return outcomes
    }.run(on: database, as: actor)
  }

  /// Queues cancelled jobs again, for a day after the cancellation; each takes a unit of the present month, the lowest
  /// numbers first.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  public func uncancel(
    _ jobs: [JobID], by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> [JobID: UncancelOutcome] {
    let locations = try await shards.locations(of: jobs)
    var outcomes = Dictionary(
      jobs.map { ($0, UncancelOutcome.untouched(.unknown)) }, uniquingKeysWith: { first, _ in first })
    for (shard, jobs) in Self.byShard(locations) {
      let answers = try await Statement(
        SQLFunction("uncancel", 2), [.int16(shard), .array(jobs.map(\.value))], as: [Requeued].self,
        while: "undoing cancellations"
      ) { rows in
        try rows.map { row -> (JobID, UncancelOutcome) in
          let outcome: UncancelOutcome =
            switch (row.outcome, row.period) {
            case ("requeued", let period?): .requeued(period)
            case ("quota", _): .quota
            case ("busy", _): .busy
            default: .untouched(try UncancelOutcome.Reason(stored: row.outcome))
            }
          return (row.job, outcome)
        }
      }.run(on: database, as: actor)
      for (job, outcome) in answers { outcomes[job] = outcome }
    }
    return outcomes
  }

  private static func byShard(_ locations: [JobID: JobLocation]) -> [(Int16, [JobID])] {
    Dictionary(grouping: locations.keys) { locations[$0]?.shard ?? 0 }
      .map { ($0.key, $0.value.sorted()) }
      .sorted { $0.0 < $1.0 }
  }
}
