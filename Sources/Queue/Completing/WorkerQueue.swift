public import PostgreSQL
public import Support

/// A worker's calls that take more than one statement.
///
/// Each ends many jobs at once, and a row that the database refuses stops no other: a call that fails
/// because of a row is split in halves until the bad rows stand alone.
public struct WorkerQueue: Sendable {
  /// The calls of one statement.
  public let statements: WorkerStatements

  /// The calls of a worker for a shard.
  public init(_ statements: WorkerStatements) {
    self.statements = statements
  }

  /// Stores analyses; one whose values the database refuses is dead as ``FailureClass/store``, with
  /// the database's message. One that it cannot store for another reason of its own, such as a damaged page, is
  /// let go: its lease runs out, and the job is tried again as after the loss of its worker.
  ///
  /// - Parameter knownBusy: whether the jobs were busy before, so that somebody else's transaction is not waited for.
  /// - Throws: every error but a refused row. Nothing is lost by repeating the call: what was stored is then
  ///   stale.
  public func complete(
    _ jobs: [CompletedJob], knownBusy: Bool = false, on database: some Queryable, deadline: Duration? = nil
  ) async throws(JobQueueError) -> CompletionOutcome {
    var outcome = CompletionOutcome()
    var parts = Halving(jobs)
    while let part = parts.next() {
      do {
        let answer = try await statements.complete(Array(part), knownBusy: knownBusy)
          .run(on: database, deadline: deadline)
        outcome.stored.formUnion(answer.ended)
        outcome.busy.formUnion(answer.busy)
        outcome.stale.formUnion(
          part.map(\.job).filter { !answer.ended.contains($0) && !answer.busy.contains($0) })
      } catch  where error.isOfRow {
        guard let refused = parts.split(part) else { continue }
        guard error.code == .badRow else {
          outcome.unrecorded[refused.job] = Self.message(error)
          continue
        }
        let message = "The result could not be stored: \(Self.message(error))"
        let attempt = FailedAttempt(
          lease: refused.lease, job: refused.job, decision: .dead, failureClass: .store,
          code: Self.state(error), message: message, calls: refused.calls, maybeCounted: true,
          endpoint: refused.endpoint)
        let failed = try await fail([attempt], on: database, deadline: deadline)
        switch failed.ended[refused.job] {
        case .dead: outcome.rejected[refused.job] = message
        case .busy: outcome.busy.insert(refused.job)
        case .retried, .stale: outcome.stale.insert(refused.job)
        case nil: outcome.unrecorded[refused.job] = failed.unrecorded[refused.job] ?? Self.message(error)
        }
      }
    }
    return outcome
  }

  /// Records failed attempts; one whose message the database refuses is recorded without it, with what the
  /// database said.
  ///
  /// - Returns: What became of each. A job of which not even that could be recorded is among the unrecorded:
  ///   its lease is left to run out.
  /// - Throws: every error but a refused row. Nothing is lost by repeating the call.
  public func fail(
    _ attempts: [FailedAttempt], on database: some Queryable, deadline: Duration? = nil
  ) async throws(JobQueueError) -> FailureOutcome {
    var outcome = FailureOutcome()
    var parts = Halving(attempts)
    while let part = parts.next() {
      do {
        let ended = try await statements.fail(Array(part)).run(on: database, deadline: deadline)
        outcome.ended.merge(ended) { _, new in new }
      } catch  where error.isOfRow {
        guard let refused = parts.split(part) else { continue }
        do {
          let plain = refused.plain(because: Self.message(error), code: Self.state(error))
          let ended = try await statements.fail([plain]).run(on: database, deadline: deadline)
          outcome.ended.merge(ended) { _, new in new }
        } catch  where error.isOfRow {
          outcome.unrecorded[refused.job] = Self.message(error)
        }
      }
    }
    return outcome
  }

  /// Releases jobs that were not tried.
  ///
  /// - Returns: Those that were still held and are released; one that the database could not release is among the
  ///   unrecorded, and its lease is left to run out.
  /// - Throws: every error but of a row. Nothing is lost by repeating the call.
  public func release(
    _ jobs: [HeldJob], on database: some Queryable, deadline: Duration? = nil
  ) async throws(JobQueueError) -> ReleaseOutcome {
    var outcome = ReleaseOutcome()
    var parts = Halving(jobs)
    while let part = parts.next() {
      do {
        let answer = try await statements.release(Array(part)).run(on: database, deadline: deadline)
        outcome.back.formUnion(answer.ended)
        outcome.busy.formUnion(answer.busy)
      } catch  where error.isOfRow {
        guard let refused = parts.split(part) else { continue }
        outcome.unrecorded[refused.job] = Self.message(error)
      }
    }
    return outcome
  }

  /// What the server said, without what was being done.
  private static func message(_ error: JobQueueError) -> String {
    (error.underlying as? PostgreSQLError)?.message ?? error.message
  }

  private static func state(_ error: JobQueueError) -> String? {
    (error.underlying as? PostgreSQLError)?.sqlState
  }
}

/// What became of failed attempts that were to be recorded.
public struct FailureOutcome: Sendable, Equatable {
  /// By job, what the database did.
  public var ended: [JobID: FailOutcome] = [:]
  /// Jobs of which nothing could be recorded, with the database's message.
  public var unrecorded: [JobID: String] = [:]

  /// An outcome of nothing.
  init() {}
}

/// What became of jobs that were to be released.
public struct ReleaseOutcome: Sendable, Equatable {
  /// Released by this call.
  public var back: Set<JobID> = []
  /// Not released yet, since somebody else's open transaction holds the job; to be tried again.
  public var busy: Set<JobID> = []
  /// Jobs that could not be released, with the database's message.
  public var unrecorded: [JobID: String] = [:]

  /// An outcome of nothing.
  init() {}
}

extension FailedAttempt {
  /// The same decision, with nothing of what the endpoint said.
  fileprivate func plain(because message: String, code: String?) -> FailedAttempt {
    FailedAttempt(
      lease: lease, job: job, decision: decision, failureClass: failureClass, code: code,
      message: "The failure could not be recorded as it came: \(message)", calls: calls,
      maybeCounted: maybeCounted)
  }
}

/// The parts in which a call for many items is made: all of them at first, halves of what was refused.
struct Halving<Item> {
  // The first part is taken from the end, so that parts are applied in the order given.
  private var parts: [ArraySlice<Item>]

  init(_ items: [Item]) {
    parts = items.isEmpty ? [] : [items[...]]
  }

  /// The next part to make the call for.
  mutating func next() -> ArraySlice<Item>? {
    parts.popLast()
  }

  /// Takes a refused part back in two halves; an item that stands alone is answered instead.
  mutating func split(_ part: ArraySlice<Item>) -> Item? {
    guard part.count > 1 else { return part.first }
    let middle = part.startIndex + part.count / 2
    parts.append(part[middle...])
    parts.append(part[..<middle])
    return nil
  }
}
