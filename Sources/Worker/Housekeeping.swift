internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// What keeps a queue healthy and any worker may do: rescue of lost leases, promotion of due jobs,
/// refunds, scan marks, partitions, gauges.
///
/// Each is one statement that several workers may run at once; what needs doing by one of them only is
/// guarded by a turn that the database gives.
struct Housekeeping {
  let worker: AnalysisWorker
  let pipeline: Pipeline
  let databases: WorkerDatabases
  let shards: [Int16]

  /// How often one of all workers looks at the queue from its very beginning, for jobs whose transaction
  /// committed after the scan mark had passed them.
  private static let sweepEvery: Duration = .seconds(60)
  /// How many jobs of a lane are promoted at once.
  private static let promotionSize = 1000
  private static let gaugesEvery: Duration = .seconds(10)
  private static let partitionsEvery: Duration = .seconds(3600)

  private var deadline: Duration { worker.configuration.statementDeadline }

  func run() async {
    var retries = Retries(worker: worker, what: "housekeeping", pipeline: pipeline)
    var rescueAt = EventLoop.now
    while !Task.isCancelled, await pipeline.stage < .finished {
      let isRescueDue = EventLoop.now >= rescueAt
      do throws(JobQueueError) {
        let look = await pipeline.look(all: isRescueDue)
        let found = try await look.statement.run(on: databases.control, deadline: deadline)
        await pipeline.looked(look, found: found)
        retries.succeeded()
        if isRescueDue { rescueAt = EventLoop.now + worker.configuration.rescueEvery }
        _ = try await WorkerStatements.chainAudit().run(on: databases.control, deadline: deadline)
        guard await keep(found, &retries) else { return }
      } catch {
        await pipeline.lookFailed()
        guard await retries.pause(after: error) else { return }
      }
      await pipeline.dispatch()  // a breaker's time may have come
      do { try await worker.loop.sleep(for: worker.configuration.promoteEvery) } catch { return }
    }
  }

  /// Does what was found; a shard in which that fails stops no other. False when the task was cancelled.
  private func keep(_ found: [Int16: ShardWork], _ retries: inout Retries) async -> Bool {
    let unpublished = await pipeline.shardsWithMarks
    for shard in shards where found[shard] != nil || unpublished.contains(shard) {
      do throws(JobQueueError) {
        try await keep(shard, found[shard] ?? ShardWork(), publishes: unpublished.contains(shard))
        retries.succeeded(shard: shard)
      } catch {
        guard await retries.pause(after: error, shard: shard) else { return false }
      }
    }
    return true
  }

  private func keep(_ shard: Int16, _ work: ShardWork, publishes: Bool) async throws(JobQueueError) {
    guard let statements = await pipeline.shards[shard]?.queue.statements else { return }
    var back = 0
    if work.isPromotionDue { back += try await promote(statements) }
    if publishes || work.movesMarks {
      let marks = await pipeline.marks(of: shard)
      let published = try await statements.tick(marks).run(on: databases.control, deadline: deadline)
      await pipeline.published(published, shard: shard)
    }
    if work.owesRefunds {
      _ = try await statements.applyRefunds().run(on: databases.control, deadline: deadline)
    }
    if work.hasLostLeases { back += try await rescue(statements) }
    try await take(work.turns, statements)
    if back > 0 { await pipeline.wakeUp(shard: shard) }
  }

  /// Promotes as long as full rounds come, for a second at most: the rest of the housekeeping has its turn too.
  private func promote(_ statements: WorkerStatements) async throws(JobQueueError) -> Int {
    let until = EventLoop.now + .seconds(1)
    var promoted = 0
    var count = 0
    repeat {
      count = try await statements.promote(limit: Self.promotionSize).run(
        on: databases.control, deadline: deadline)
      promoted += count
    } while count >= Self.promotionSize && EventLoop.now < until
    return promoted
  }

  private func rescue(_ statements: WorkerStatements) async throws(JobQueueError) -> Int {
    let outcome = try await statements.rescue(grace: worker.configuration.leaseDuration)
      .run(on: databases.control, deadline: deadline)
    guard outcome.leases > 0 else { return 0 }
    worker.meters.rescued.add(outcome.requeued)
    worker.log.warning(
      "Leases of lost workers were taken back",
      [
        "leases": .int(Int64(outcome.leases)), "requeued": .int(Int64(outcome.requeued)),
        "dead": .int(Int64(outcome.dead)),
      ])
    return outcome.requeued
  }

  /// What one worker of all does.
  private func take(_ turns: Set<String>, _ statements: WorkerStatements) async throws(JobQueueError) {
    if turns.contains("sweep"), try await isOurTurn("sweep", every: Self.sweepEvery, statements) {
      // Every worker hears of the marks that this lowers when it looks next.
      _ = try await statements.sweep().run(on: databases.control, deadline: deadline)
    }
    if turns.contains("gauges"), try await isOurTurn("gauges", every: Self.gaugesEvery, statements) {
      try await WorkerStatements.refreshGauges().run(on: databases.control, deadline: deadline)
    }
    if turns.contains("partitions"),
      try await isOurTurn("partitions", every: Self.partitionsEvery, statements)
    {
      try await WorkerStatements.ensurePartitions().run(on: databases.control, deadline: deadline)
    }
  }

  private func isOurTurn(
    _ task: String, every interval: Duration, _ statements: WorkerStatements
  ) async throws(JobQueueError) -> Bool {
    try await statements.takeTurn(task, every: interval).run(on: databases.control, deadline: deadline)
  }
}
