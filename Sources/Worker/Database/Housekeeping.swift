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
  let context: WorkerContext
  let pipeline: Pipeline

  /// How often one of all workers looks at the queue from its very beginning, for jobs whose transaction
  /// committed after the scan mark had passed them.
  private static let sweepEvery: Duration = .seconds(60)
  /// How many jobs of a lane are promoted at once.
  private static let promotionSize = 1000
  private static let gaugesEvery: Duration = .seconds(10)
  private static let partitionsEvery: Duration = .seconds(3600)

  func run() async {
    var retries = Retries(context, what: "housekeeping", pipeline: pipeline)
    var rescueAt = EventLoop.now
    while !Task.isCancelled, await pipeline.stage < .finished {
      let isRescueDue = EventLoop.now >= rescueAt
      do throws(JobQueueError) {
        let poll = await pipeline.with { $0.leases.poll(all: isRescueDue) }
        let found = try await context.ask(poll.statement)
        await pipeline.polled(poll, found: found)
        retries.succeeded()
        if isRescueDue { rescueAt = EventLoop.now + context.configuration.rescueEvery }
        _ = try await context.ask(WorkerStatements.chainAudit())
        guard await keep(found, &retries) else { return }
      } catch {
        await pipeline.with { $0.leases.pollSoon() }
        guard await retries.pause(after: error) else { return }
      }
      await pipeline.dispatch()  // a breaker's time may have come
      do { try await context.loop.sleep(for: context.configuration.promoteEvery) } catch { return }
    }
  }

  /// Does what was found; a shard in which that fails stops no other. False when the task was cancelled.
  private func keep(_ found: [Int16: ShardWork], _ retries: inout Retries) async -> Bool {
    let unpublished = await pipeline.with { $0.leases.shardsWithMarks }
    for shard in context.shards where found[shard] != nil || unpublished.contains(shard) {
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
    let statements = context.statements(of: shard)
    var back = 0
    if work.isPromotionDue { back += try await promote(statements) }
    if publishes || work.movesMarks {
      let marks = await pipeline.with { $0.leases.marks(of: shard) }
      let published = try await context.ask(statements.tick(marks))
      await pipeline.with { $0.leases.published(published, in: shard) }
    }
    if work.owesRefunds {
      _ = try await context.ask(statements.applyRefunds())
    }
    if work.hasLostLeases { back += try await rescue(statements) }
    try await take(work.turns, statements)
    if back > 0 { await pipeline.wakeUp(shard) }
  }

  /// Promotes as long as full rounds come, for a second at most: the rest of the housekeeping has its turn too.
  private func promote(_ statements: WorkerStatements) async throws(JobQueueError) -> Int {
    let until = EventLoop.now + .seconds(1)
    var promoted = 0
    var count = 0
    repeat {
      count = try await context.ask(statements.promote(limit: Self.promotionSize))
      promoted += count
    } while count >= Self.promotionSize && EventLoop.now < until
    return promoted
  }

  private func rescue(_ statements: WorkerStatements) async throws(JobQueueError) -> Int {
    let outcome = try await context.ask(statements.rescue(grace: context.configuration.leaseDuration))
    guard outcome.leases > 0 else { return 0 }
    context.metrics.rescued.add(outcome.requeued)
    context.log.warning(
      "Leases of lost workers were taken back",
      [
        "leases": .int(Int64(outcome.leases)), "requeued": .int(Int64(outcome.requeued)),
        "dead": .int(Int64(outcome.dead)),
      ])
    return outcome.requeued
  }

  /// What one worker of all does.
  private func take(_ turns: Set<String>, _ statements: WorkerStatements) async throws(JobQueueError) {
    func isOurTurn(_ task: String, every interval: Duration) async throws(JobQueueError) -> Bool {
      guard turns.contains(task) else { return false }
      return try await context.ask(statements.takeTurn(task, every: interval))
    }
    if try await isOurTurn("sweep", every: Self.sweepEvery) {
      // Every worker hears of the marks that this lowers when it polls next.
      _ = try await context.ask(statements.sweep())
    }
    if try await isOurTurn("gauges", every: Self.gaugesEvery) {
      try await context.ask(WorkerStatements.refreshGauges())
    }
    if try await isOurTurn("partitions", every: Self.partitionsEvery) {
      try await context.ask(WorkerStatements.ensurePartitions())
    }
  }
}
