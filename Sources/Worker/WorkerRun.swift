internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support
internal import Synchronization

/// The running worker: its tasks, and the order in which they end.
struct WorkerRun {
  let context: WorkerContext
  let pipeline: Pipeline
  let opener: ImageOpener

  /// What a task of the run says when it ends.
  private enum Ended { case calls, store, drained, other }

  /// Runs to the end. Apart from the caller's task, for its cancellation is a wish to stop at once: what is
  /// held must still be released, and no statement could do that in a cancelled task.
  ///
  /// - Throws: `WorkerError` when the role may not do what the run needs.
  func run(_ requests: StopRequests) async throws(WorkerError) -> WorkerSummary {
    let running = Task(executorPreference: context.loop) { await runLoops(requests) }
    let summary = await withTaskCancellationHandler {
      await running.value
    } onCancel: {
      Task { await pipeline.advance(to: .releasing) }
    }
    if let fault = await pipeline.fault {
      throw WorkerError(fault.description, kind: fault.code == .permission ? .permission : .fault)
    }
    return summary
  }

  private func runLoops(_ requests: StopRequests) async -> WorkerSummary {
    let drain = Drain(context: context, pipeline: pipeline)
    await withTaskGroup(of: Ended.self) { group in
      addLoops(to: &group, requests, drain)
      for await ended in group {
        switch ended {
        case .drained: await pipeline.advance(to: .stopping)
        case .calls:
          // Nothing is called for any more: the store ends when it has stored everything.
          await pipeline.advance(to: .finished)
        case .store: group.cancelAll()
        case .other: break
        }
      }
    }
    await context.ended?.flush()
    if context.configuration.drainHorizon != nil, !requests.isStopped { await courier?.deliverLast() }
    await publishMarks()
    let summary = await summary(drain)
    await recordStop()
    await retire()
    return summary
  }

  private var operators: OperatorLink { OperatorLink(context: context, pipeline: pipeline) }
  private var counts: CountKeeper { CountKeeper(context: context, pipeline: pipeline) }

  /// Notifies webhooks; nil where there are no keys for their secrets.
  private var courier: WebhookCourier? {
    guard context.configuration.imageKeys != nil else { return nil }
    return WebhookCourier(context: context, pipeline: pipeline, keys: opener.keys)
  }

  private func addLoops(to group: inout TaskGroup<Ended>, _ requests: StopRequests, _ drain: Drain) {
    func add(_ ended: Ended = .other, _ loop: @escaping @Sendable () async -> Void) {
      group.addTask {
        await loop()
        return ended
      }
    }
    /// One that asks the pipeline at every step.
    func addInside(_ ended: Ended = .other, _ loop: @escaping @Sendable () async -> Void) {
      add(ended) { await pipeline.run(loop) }
    }
    let loops = DatabaseLoops(context: context, pipeline: pipeline)
    add(.calls) { await runCalls() }
    addInside(.store) { await loops.store() }
    addInside { await loops.claim() }
    for _ in 0..<WorkerDatabases.imageConnections { addInside { await loops.readImages() } }
    addInside { await LeaseRenewer(context: context, pipeline: pipeline).run() }
    addInside { await Housekeeping(context: context, pipeline: pipeline).run() }
    add { await operators.run() }
    add { await counts.run() }
    if let courier { add { await courier.run() } }
    if let ended = context.ended { add { await ended.run() } }
    if context.configuration.listens {
      let listener = QueueListener(
        context.databases.control.configuration, [.jobs], on: context.loop, log: context.log)
      add {
        // An idle worker begins at once instead of at its next poll. The text is the shard; whoever notifies by other
        // means may say nothing.
        await listener.run(
          while: { await pipeline.stage == .running },
          pause: { await context.outage.wait(orPauseFor: $0) },
          heard: { await pipeline.wakeUp(Int16($0)) })
      }
    }
    add { await obey(requests) }
    if let horizon = context.configuration.drainHorizon {
      add(.drained) { await drain.waitUntilEmpty(horizon: horizon) }
    }
  }

  /// As many calls as may be in flight, until the worker stops; cut off when it is to stop at once.
  private func runCalls() async {
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<context.configuration.concurrency {
        group.addTask {
          await pipeline.run { await CallTask(context: context, pipeline: pipeline, opener: opener).run() }
          return true
        }
      }
      group.addTask {
        await untilReleasing()
        return false
      }
      var calling = context.configuration.concurrency
      for await wasCall in group {
        if wasCall { calling -= 1 } else { group.cancelAll() }
        if calling == 0 { group.cancelAll() }
      }
    }
  }

  private func untilReleasing() async {
    while !Task.isCancelled, await pipeline.stage < .releasing {
      await pipeline.stageBell.wait()
    }
  }

  /// The first request stops the claims and gives calls in flight the grace time, the second cuts them off.
  private func obey(_ requests: StopRequests) async {
    await requests.wait(after: 0)
    guard !Task.isCancelled else { return }
    context.log.notice(
      "Stopping; calls in flight may finish", ["grace": .duration(context.configuration.grace)])
    await pipeline.advance(to: .stopping)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await requests.wait(after: 1) }
      group.addTask {
        do { try await context.loop.sleep(for: context.configuration.grace) } catch {}  // all ended before
      }
      await group.next()
      group.cancelAll()
    }
    guard !Task.isCancelled else { return }
    context.log.notice("Stopping at once; calls in flight are released")
    await pipeline.advance(to: .releasing)
  }

  /// Publishes how far this worker has claimed, which nobody else knows: short runs one after another would else leave
  /// the lanes where they began. A lane that another worker writes at the same moment is tried again.
  private func publishMarks() async {
    for _ in 0..<Self.lastTicks {
      let unpublished = await pipeline.with { $0.leases.shardsWithMarks.sorted() }
      for shard in unpublished {
        do throws(JobQueueError) {
          let marks = await pipeline.with { $0.leases.marks(of: shard) }
          let published = try await context.ask(
            context.statements(of: shard).tick(marks, ends: true), within: context.configuration.shutdownGrace
          )
          await pipeline.with { $0.leases.published(published, in: shard) }
        } catch {
          context.log.info(
            "How far this worker came was not published", ["error": .string(error.description)])
          return
        }
      }
      if unpublished.isEmpty { return }
    }
  }

  private static let lastTicks = 20

  /// Records the end in the audit, as ``Startup`` records the beginning, if the database answers.
  private func recordStop() async {
    let time = context.configuration.shutdownGrace
    do throws(JobQueueError) {
      try await WorkerStatements.recordStop(of: context.identity)
        .run(on: context.databases.control, as: context.auditActor, deadline: time)
      _ = try await context.ask(WorkerStatements.chainAudit(), within: time)
    } catch {
      context.log.info("The end of this worker was not recorded", ["error": .string(error.description)])
    }
  }

  /// Lists this worker as ended, with what it has counted, and has the queue's history note that. Without an answer
  /// it stays listed with its last sign of life.
  private func retire() async {
    await operators.reportLast()
    let heardIn = await pipeline.with { $0.leases.shardsHeardIn.sorted() }
    for shard in heardIn {
      do throws(JobQueueError) {
        try await context.ask(
          context.statements(of: shard).retire(), within: context.configuration.shutdownGrace)
      } catch { return }
    }
    if !heardIn.isEmpty { await counts.countLast() }
  }

  private func summary(_ drain: Drain) async -> WorkerSummary {
    let metrics = context.metrics
    var summary = WorkerSummary(
      completed: metrics.completed.value, retried: metrics.retried.value, dead: metrics.dead.value,
      released: metrics.released.value, stale: metrics.stale.value, calls: metrics.calls.value)
    summary.unstored = await pipeline.held
    if context.configuration.drainHorizon != nil {
      (summary.left, summary.isParked) = await drain.left()
    }
    context.log.notice(
      "The worker has stopped",
      [
        "completed": .int(Int64(summary.completed)), "retried": .int(Int64(summary.retried)),
        "dead": .int(Int64(summary.dead)), "released": .int(Int64(summary.released)),
        "stale": .int(Int64(summary.stale)), "calls": .int(Int64(summary.calls)),
        "rescued": .int(Int64(metrics.rescued.value)), "leases_lost": .int(Int64(metrics.leasesLost.value)),
        "connects": .int(Int64(metrics.connects.value)),
        "connect_failures": .int(Int64(metrics.connectFailures.value)),
        "unstored": .int(Int64(summary.unstored)),
      ])
    return summary
  }
}

/// What a worker did, reported when it ends.
public struct WorkerSummary: Sendable, Equatable {
  /// Results stored.
  public var completed = 0
  /// Attempts that failed and are to be tried again.
  public var retried = 0
  /// Jobs that died.
  public var dead = 0
  var released = 0
  /// Outcomes that came too late, after the lease had gone or the job had been cancelled; they stored nothing.
  var stale = 0
  /// Calls made to endpoints.
  public var calls = 0
  /// When draining: what could not run before the horizon, a line each; empty when the queue is empty.
  public var left: [String] = []
  /// When draining: whether jobs wait for an endpoint that is paused.
  public var isParked = false
  /// Whether outcomes could not be stored before the end; their leases run out and the jobs run again.
  public var unstored = 0
}

/// How often the worker was asked to stop, and those who wait for it.
///
/// The requests come from one stream, which only one task can read; the start and the run both heed them.
final class StopRequests: Sendable {
  private let count = Mutex(0)
  private let bell: Bell

  init(loop: EventLoop) {
    bell = Bell(loop: loop)
  }

  /// Takes in the stream's requests until it ends or the task is cancelled.
  func read(_ stops: AsyncStream<Void>) async {
    for await _ in stops {
      count.withLock { $0 += 1 }
      bell.ring()
    }
  }

  /// Whether a stop was asked for.
  var isStopped: Bool { count.withLock { $0 } > 0 }

  /// Returns when there were more requests than `seen`, or when the task is cancelled.
  func wait(after seen: Int) async {
    while !Task.isCancelled, count.withLock({ $0 }) <= seen { await bell.wait() }
  }

  /// Does the work unless a stop is asked for before it is done; nil then.
  func unlessStopped<R: Sendable>(_ work: @escaping @Sendable () async throws -> R) async throws -> R? {
    try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        await self.wait(after: 0)
        return nil
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
  }
}
