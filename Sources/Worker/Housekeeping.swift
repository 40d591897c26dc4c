internal import AnalysisCore
internal import EventLoop
internal import JobQueue
internal import Operations
internal import PostgreSQL

/// What keeps a queue healthy and any worker may do: rescue of lost batches, promotion of due jobs,
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
  private static let gaugesEvery: Duration = .seconds(10)
  private static let partitionsEvery: Duration = .seconds(3600)

  private var deadline: Duration { worker.configuration.statementDeadline }

  func run() async {
    var retries = Retries(worker: worker, what: "housekeeping", pipeline: pipeline)
    var rescueAt = EventLoop.now
    while !Task.isCancelled, await pipeline.stage < .finished {
      let isRescueDue = EventLoop.now >= rescueAt
      for shard in shards {
        do throws(JobQueueError) {
          try await keep(shard, rescues: isRescueDue)
          retries.succeeded(shard: shard)
        } catch {
          guard await retries.pause(after: error, shard: shard) else { return }
        }
      }
      if isRescueDue { rescueAt = EventLoop.now + worker.configuration.rescueEvery }
      await pipeline.dispatch()  // a breaker's time may have come
      do { try await worker.loop.sleep(for: worker.configuration.promoteEvery) } catch { return }
    }
  }

  private func keep(_ shard: Int16, rescues: Bool) async throws(JobQueueError) {
    guard let queue = await pipeline.shards[shard]?.queue else { return }
    let statements = queue.statements
    let due = try await statements.promote().run(on: databases.control, deadline: deadline)
    try await tick(shard, statements)
    if shard == shards.first {
      _ = try await WorkerStatements.chainAudit().run(on: databases.control, deadline: deadline)
    }
    _ = try await statements.settleRefunds().run(on: databases.control, deadline: deadline)
    var back = due
    if rescues {
      back += try await rescue(statements)
      try await turns(shard, statements)
    }
    if back > 0 { await pipeline.wakeUp() }
  }

  private func tick(_ shard: Int16, _ statements: WorkerStatements) async throws(JobQueueError) {
    let marks = await pipeline.marks(of: shard)
    guard !marks.isEmpty else { return }
    let scanFrom = try await statements.tick(marks).run(on: databases.control, deadline: deadline)
    await pipeline.published(scanFrom, shard: shard)
  }

  private func rescue(_ statements: WorkerStatements) async throws(JobQueueError) -> Int {
    let outcome = try await statements.rescue(grace: worker.configuration.lease)
      .run(on: databases.control, deadline: deadline)
    guard outcome.batches > 0 else { return 0 }
    worker.meters.rescued.add(outcome.requeued)
    worker.log.warning(
      "Batches of lost workers were taken back",
      [
        "batches": .int(Int64(outcome.batches)), "requeued": .int(Int64(outcome.requeued)),
        "dead": .int(Int64(outcome.dead)),
      ])
    return outcome.requeued
  }

  /// What one worker of all does.
  private func turns(_ shard: Int16, _ statements: WorkerStatements) async throws(JobQueueError) {
    if try await isOurTurn("sweep", every: Self.sweepEvery, statements) {
      let lanes = await pipeline.marks(of: shard).map(\.lane)
      _ = try await statements.sweep(lanes).run(on: databases.control, deadline: deadline)
      await pipeline.sweep(shard: shard)
    }
    guard shard == shards.first else { return }
    if try await isOurTurn("gauges", every: Self.gaugesEvery, statements) {
      try await WorkerStatements.refreshGauges().run(on: databases.control, deadline: deadline)
    }
    if try await isOurTurn("partitions", every: Self.partitionsEvery, statements) {
      try await WorkerStatements.ensurePartitions().run(on: databases.control, deadline: deadline)
    }
  }

  private func isOurTurn(
    _ task: String, every interval: Duration, _ statements: WorkerStatements
  ) async throws(JobQueueError) -> Bool {
    try await statements.takeTurn(task, every: interval).run(on: databases.control, deadline: deadline)
  }
}
