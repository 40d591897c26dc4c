import AnalysisCore
public import PostgreSQL

/// A worker's calls that take more than one statement.
public struct WorkerQueue: Sendable {
  /// The calls of one statement.
  public let statements: WorkerStatements

  /// The calls of a worker for a shard.
  public init(_ statements: WorkerStatements) {
    self.statements = statements
  }

  /// Stores analyses, and finds out which of them the database refuses.
  ///
  /// When the call fails with a data error, it is split in halves until the bad rows stand alone. Each of
  /// those is failed for good as ``FailureClass/store``, with the database's message; the others are stored.
  ///
  /// - Throws: every other error. Nothing is lost by repeating the call: what was stored is then stale.
  public func complete(
    _ jobs: [CompletedJob], on database: some Queryable, deadline: Duration? = nil
  ) async throws(JobQueueError) -> CompletionOutcome {
    var outcome = CompletionOutcome()
    // The first part is taken from the end, so that parts are settled in the order given.
    var parts = jobs.isEmpty ? [] : [jobs[...]]
    while let part = parts.popLast() {
      do {
        let stored = try await statements.complete(Array(part)).run(on: database, deadline: deadline)
        outcome.stored.formUnion(stored)
        outcome.stale.formUnion(part.map(\.job).filter { !stored.contains($0) })
      } catch  where error.code == .badRow {
        if part.count == 1, let job = part.first {
          try await reject(job, error, &outcome, on: database, deadline: deadline)
        } else {
          let middle = part.startIndex + part.count / 2
          parts.append(part[middle...])
          parts.append(part[..<middle])
        }
      }
    }
    return outcome
  }

  private func reject(
    _ job: CompletedJob, _ error: JobQueueError, _ outcome: inout CompletionOutcome,
    on database: some Queryable, deadline: Duration?
  ) async throws(JobQueueError) {
    let cause = error.underlying as? PostgreSQLError
    let message = "The result could not be stored: \(cause?.message ?? error.message)"
    let attempt = FailedAttempt(
      batch: job.batch, job: job.job, decision: .dead, failureClass: .store, code: cause?.sqlState,
      message: message, calls: job.calls, maybeCounted: true, endpoint: job.endpoint)
    let settled = try await statements.fail([attempt]).run(on: database, deadline: deadline)
    if settled[job.job] == .dead {
      outcome.rejected[job.job] = message
    } else {
      outcome.stale.insert(job.job)
    }
  }
}
