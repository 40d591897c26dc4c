import EventLoop
public import PostgreSQL
public import Support

/// Puts jobs into the queue, many in a call.
public actor Submitter {
  /// The loop of its connections: between its statements no other thread has to be woken.
  nonisolated public var unownedExecutor: UnownedSerialExecutor { database.loop.asUnownedSerialExecutor() }

  private let database: ConnectionPool
  private let limits: SubmitLimits
  private var shards: [String: Int16] = [:]
  /// Whether all users are in one shard, as in most installations; nil until it is known.
  private var hasOneShard: Bool?
  private var unnotified: Set<Int16> = []
  private var notifiedAt: ContinuousClock.Instant?
  private var dueNotification: Task<Void, Never>?
  /// Whether the schema is of this version, as far as is known: the one before knows no submit of a single job, and wakes
  /// no workers in a submit's own transaction.
  private var isOfThisVersion = true

  /// How many pictures one question is about, and how many refusals are counted in one call.
  private static let questionSize = 10_000
  /// How many users' shards are remembered.
  private static let shardCacheLimit = 100_000

  /// A submitter on a database.
  public init(_ database: ConnectionPool, limits: SubmitLimits = .init()) {
    self.database = database
    self.limits = limits
  }

  /// Submits jobs and answers what became of each, in the order given.
  ///
  /// One user's jobs are taken in the order given, which decides who gets the last units of a limit. A
  /// call whose answer was lost is made again if all its jobs have keys; what the lost call had created is
  /// then answered as a duplicate. While the server is away calls are made again for as long as the limits say.
  ///
  /// - Parameters:
  ///   - batch: the batch that they are of, which this login has opened; nil for none.
  ///   - answered: called with each job's index and outcome as soon as its call is committed, so that what was taken
  ///     before an error is known.
  /// - Throws: ``JobQueueError``; `outcomeUnknown` when an answer was lost and a job had no key.
  public func submit(
    _ items: [Submission], in batch: BatchID? = nil,
    answered: @Sendable (Int, SubmitOutcome) -> Void = { _, _ in }
  ) async throws(JobQueueError) -> [SubmitOutcome] {
    var outcomes = items.map { Self.refusalBeforehand($0) }
    for (index, outcome) in outcomes.enumerated() {
      if let outcome { answered(index, outcome) }
    }
    let sendable = items.enumerated().filter { outcomes[$0.offset] == nil }
      .map { (index: $0.offset, submission: $0.element) }
    let shards = try await shards(of: sendable.map(\.submission.user))
    for call in SubmitCall.calls(of: sendable, shards: shards, batch: batch, limits: limits) {
      let answers = try await make(call)
      for (item, outcome) in zip(call.items, answers) {
        outcomes[item.index] = outcome
        answered(item.index, outcome)
        if case .refused(let refusal) = outcome, refusal.isOfUnknownUser { forget(item.submission.user) }
      }
    }
    notifyWhenDue()
    return outcomes.compactMap { $0 }
  }

  /// Makes a batch; with a key that this login has given before, answers the batch that was made then.
  public func openBatch(name: String?, key: String?) async throws(JobQueueError) -> BatchID {
    let statement = Statement(
      SQLFunction("open_batch", 2), [.text(name), .text(key)], as: BatchID.self, while: "making a batch")
    return try await persistently { () async throws(JobQueueError) in
      try await statement.run(on: self.database, deadline: self.limits.deadline)
    }
  }

  /// Counts for a batch what was refused before it came to the database: with a key once, however often it is said.
  ///
  /// - Parameter refused: the user of each, if it named one, and its key.
  public func addRefusals(
    _ refused: [(user: String?, key: String?)], to batch: BatchID
  ) async throws(JobQueueError) {
    for start in stride(from: 0, to: refused.count, by: Self.questionSize) {
      let part = refused[start..<min(start + Self.questionSize, refused.count)]
      try await Statement(
        SQLFunction("add_refusals", 3),
        [
          .int64(batch.value), .array(part.map { $0.user.map(Self.countable) }),
          .array(part.map { $0.key.map(Self.countable) }),
        ],
        while: "counting what was refused"
      ).run(on: database, deadline: limits.deadline)
    }
  }

  /// As much of a user or key as `add_refusals` takes: one that is too long is refused for that, and counts.
  private static func countable(_ text: String) -> String {
    String(storable(text).unicodeScalars.prefix(200))
  }

  /// Which of some pictures would be paid for again: the user has submitted the same this month, as the same type and
  /// under another key, and the job neither died nor was cancelled.
  ///
  /// - Returns: their indices in what was given.
  public func billedBefore(_ pictures: [PictureInQuestion]) async throws(JobQueueError) -> Set<Int> {
    let shards = try await shards(of: pictures.map(\.user))
    let parts = Dictionary(grouping: pictures.indices) { shards[pictures[$0].user] ?? 0 }
    var found: Set<Int> = []
    for (shard, indices) in parts.sorted(by: { $0.key < $1.key }) {
      for start in stride(from: 0, to: indices.count, by: Self.questionSize) {
        let asked = Array(indices[start..<min(start + Self.questionSize, indices.count)])
        let statement = PictureInQuestion.statement(asked.map { pictures[$0] }, shard: shard)
        let paid = try await persistently { () async throws(JobQueueError) in
          try await statement.run(on: self.database, deadline: self.limits.deadline)
        }
        found.formUnion(paid.map { asked[$0] })
      }
    }
    return found
  }

  /// Wakes the workers of the shards in which jobs were submitted since the last time. ``submit(_:answered:)`` does so
  /// by itself, but lets a moment pass since it last did; who ends the process is not to wait for that. A
  /// notification that fails is no error: workers look by themselves.
  public func notifyWorkers() async {
    dueNotification?.cancel()
    dueNotification = nil
    let shards = unnotified.sorted()
    guard !shards.isEmpty else { return }
    unnotified.removeAll()
    notifiedAt = EventLoop.now
    _ = try? await database.run(shards.map { WorkerStatements.notifyWorkers(shard: $0) })
  }

  /// Sees to it that what has been submitted is told when the time has come. The task is the one thing here that
  /// outlives its call, by no more than the interval: the submit's caller has no reason to wait for it.
  private func notifyWhenDue() {
    guard !unnotified.isEmpty, dueNotification == nil else { return }
    let rest = notifiedAt.map { limits.notifyInterval - (EventLoop.now - $0) } ?? .zero
    dueNotification = Task {
      do {
        try await database.loop.sleep(for: rest)
      } catch {
        return
      }
      dueNotification = nil
      await notifyWorkers()
    }
  }

  private var isTimeToNotify: Bool {
    notifiedAt.map { EventLoop.now - $0 >= limits.notifyInterval } ?? true
  }

  /// Makes a call, again after a passing failure as long as that can do no harm.
  private func make(_ call: SubmitCall) async throws(JobQueueError) -> [SubmitOutcome] {
    try await persistently { () async throws(JobQueueError) in
      do throws(JobQueueError) {
        return try await self.send(call)
      } catch {
        let isUncertain = (error.underlying as? PostgreSQLError)?.mayHaveTakenEffect ?? false
        guard isUncertain, !call.isIdempotent else { throw error }
        throw JobQueueError(
          .outcomeUnknown,
          "The connection was lost while \(call.items.count) jobs were submitted, and some of them have no"
            + " key: it is not known whether they were taken.",
          advice: "Look with analysisctl jobs list before you submit them again; with keys a repeat is safe.",
          underlying: error)
      }
    }
  }

  /// Makes a call once. If it is time for that, what wakes the workers goes with it: in its transaction and in one
  /// write. Where others have just been woken, these are woken when the time has come again.
  private func send(_ call: SubmitCall) async throws(JobQueueError) -> [SubmitOutcome] {
    let isSoon = call.items.contains { $0.submission.runAt == nil }
    let wakes = isSoon && isTimeToNotify && isOfThisVersion
    if wakes { notifiedAt = EventLoop.now }
    let isSingle = call.isSingle && isOfThisVersion
    let statement =
      isSingle
      ? call.statementOfOne(maxAttempts: limits.maxAttempts)
      : call.statement(maxAttempts: limits.maxAttempts, wakes: wakes)
    var answer: SubmitCall.Answer
    if wakes, !call.isLabelled {
      let wake = WorkerStatements.wakeWorkers(shard: call.shard)
      let results: [Result<Rows, PostgreSQLError>]
      do {
        results = try await database.pipeline(
          [statement.sql, wake.sql], atomic: true, deadline: limits.deadline(bytes: call.bytes))
      } catch {
        throw JobQueueError(error, while: "submitting jobs")
      }
      // What one of the statements fails for has undone the other.
      for case .failure(let error) in isSingle ? results[...] : results[1...] where error.isSchemaLacking {
        return try await sendToOlder(call)
      }
      answer = try statement.decode(results[0])
      answer.hasWoken = try wake.decode(results[1])
    } else {
      do throws(JobQueueError) {
        answer = try await statement.run(on: database, deadline: limits.deadline(bytes: call.bytes))
      } catch  where isSingle && (error.underlying as? PostgreSQLError)?.isSchemaLacking == true {
        return try await sendToOlder(call)
      }
    }
    if answer.hasWoken {
      unnotified.remove(call.shard)
    } else if zip(call.items, answer.outcomes).contains(where: { $0.submission.runAt == nil && $1.job != nil }
    ) {
      unnotified.insert(call.shard)
    }
    return answer.outcomes
  }

  /// Makes a call again, since the schema has turned out to be of the version before.
  private func sendToOlder(_ call: SubmitCall) async throws(JobQueueError) -> [SubmitOutcome] {
    isOfThisVersion = false
    return try await send(call)
  }

  /// Does something, and after a passing failure does it again: a few times when the server refuses it, and
  /// as long as patience lasts while there is no server.
  private func persistently<R>(
    _ body: () async throws(JobQueueError) -> R
  ) async throws(JobQueueError) -> R {
    var refusals = 0
    var retries = RetryPauses(.database)
    var awaySince: ContinuousClock.Instant?
    while true {
      do throws(JobQueueError) {
        return try await body()
      } catch {
        guard error.isTemporary, !error.isVolumeFull else { throw error }
        if error.code == .unreachable {
          let since = awaySince ?? EventLoop.now
          awaySince = since
          guard EventLoop.now - since < limits.patience else { throw error }
        } else {
          refusals += 1
          guard refusals <= limits.repeats else { throw error }
        }
        do { try await database.loop.sleep(for: retries.next()) } catch {
          throw JobQueueError(error, while: "submitting jobs")
        }
      }
    }
  }

  private func shards(of users: [String]) async throws(JobQueueError) -> [String: Int16] {
    let wanted = Set(users)
    if !wanted.isEmpty, hasOneShard == nil {
      hasOneShard = try await persistently { () async throws(JobQueueError) in
        try await ShardDirectory(self.database).shards().count == 1
      }
    }
    if hasOneShard == true { return Dictionary(uniqueKeysWithValues: wanted.map { ($0, 0) }) }
    var known: [String: Int16] = [:]
    for user in wanted { known[user] = shards[user] }
    let unknown = wanted.filter { known[$0] == nil }
    if unknown.isEmpty { return known }
    let found = try await persistently { () async throws(JobQueueError) in
      try await ShardDirectory(self.database).shards(of: unknown.sorted())
    }
    if shards.count + found.count > Self.shardCacheLimit { shards.removeAll() }
    shards.merge(found) { $1 }
    known.merge(found) { $1 }
    return known
  }

  /// Where a user is sought who was not there: somebody may be given that name, in another shard.
  private func forget(_ user: String) {
    shards[user] = nil
    hasOneShard = nil
  }

  /// Refuses what the protocol itself cannot carry, so that one such job does not fail a whole call.
  private static func refusalBeforehand(_ item: Submission) -> SubmitOutcome? {
    let texts = [item.user, item.key ?? "", item.sourceName ?? ""]
    let isSound =
      !item.user.isEmpty && item.image.sha256.count == 32 && !texts.contains { $0.contains("\0") }
      && (item.runAt ?? 0).isFinite && !(item.expiresAt ?? 0).isNaN
      && item.reference.flatMap(Submission.faultOfReference) == nil
    return isSound ? nil : .refused(Refusal(code: "bad_argument", user: storable(item.user)))
  }
}

extension Backoff {
  /// The pauses of whoever waits at a command for a database that is away: back within two seconds of it.
  package static let database = Backoff(base: .milliseconds(50), cap: .seconds(2))
}
