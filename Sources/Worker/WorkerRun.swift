internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// The running worker: its tasks, and the order in which they end.
struct WorkerRun {
  let worker: AnalysisWorker
  let pipeline: Pipeline
  let opener: ImageOpener
  let databases: WorkerDatabases
  let shards: [Int16]

  /// What a task of the run says when it ends.
  private enum Ended {
    case calls
    case store
    case drained
    case other
  }

  /// Runs to the end. Apart from the caller's task, for its cancellation is a wish to stop at once: what is
  /// held must still be released, and no statement could do that in a cancelled task.
  ///
  /// - Throws: `WorkerError` when the role may not do what the run needs.
  func run(_ requests: StopRequests) async throws(WorkerError) -> WorkerSummary {
    let running = Task(executorPreference: worker.loop) { await runLoops(requests) }
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
    let drain = Drain(pipeline: pipeline, databases: databases, worker: worker, shards: shards)
    await withTaskGroup(of: Ended.self) { group in
      addLoops(to: &group)
      group.addTask {
        await obey(requests)
        return .other
      }
      if let horizon = worker.configuration.drainHorizon {
        group.addTask {
          await drain.waitUntilEmpty(horizon: horizon)
          return .drained
        }
      }
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
    if let ended = worker.ended {
      await EndedNotifier(worker: worker, ended: ended, databases: databases).tell()
    }
    if worker.configuration.drainHorizon != nil, !requests.isStopped { await courier?.deliverLast() }
    await publishMarks()
    let summary = await summary(drain)
    await ReaderRecord(worker: worker, databases: databases).stop()
    await retire()
    return summary
  }

  private var operators: OperatorLink {
    OperatorLink(worker: worker, pipeline: pipeline, databases: databases, shards: shards)
  }

  private var counts: CountKeeper {
    CountKeeper(worker: worker, pipeline: pipeline, databases: databases, shards: shards)
  }

  /// Tells webhooks; nil where there are no keys for their secrets.
  private var courier: WebhookCourier? {
    guard worker.configuration.imageKeys != nil else { return nil }
    return WebhookCourier(
      worker: worker, pipeline: pipeline, databases: databases, shards: shards, keys: opener.keys,
      settings: worker.configuration.webhooks)
  }

  private func addLoops(to group: inout TaskGroup<Ended>) {
    let loops = DatabaseLoops(worker: worker, pipeline: pipeline, databases: databases)
    group.addTask {
      await runCalls()
      return .calls
    }
    group.addTask {
      await pipeline.run { await loops.store() }
      return .store
    }
    group.addTask {
      await pipeline.run { await loops.claim() }
      return .other
    }
    for _ in 0..<WorkerDatabases.imageConnections {
      group.addTask {
        await pipeline.run { await loops.readImages() }
        return .other
      }
    }
    let leases = LeaseRenewer(worker: worker, pipeline: pipeline, databases: databases, shards: shards)
    group.addTask {
      await pipeline.run { await leases.run() }
      return .other
    }
    let housekeeping = Housekeeping(worker: worker, pipeline: pipeline, databases: databases, shards: shards)
    group.addTask {
      await pipeline.run { await housekeeping.run() }
      return .other
    }
    let operators = operators
    group.addTask {
      await operators.run()
      return .other
    }
    let counts = counts
    group.addTask {
      await counts.run()
      return .other
    }
    if let courier {
      group.addTask {
        await courier.run()
        return .other
      }
    }
    if let ended = worker.ended {
      group.addTask {
        await EndedNotifier(worker: worker, ended: ended, databases: databases).run()
        return .other
      }
    }
    if worker.configuration.listens {
      group.addTask {
        await pipeline.run { await WakeUpListener(worker: worker, pipeline: pipeline).run() }
        return .other
      }
    }
  }

  /// As many calls as may be in flight, until the worker stops; cut off when it is to stop at once.
  private func runCalls() async {
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<worker.configuration.concurrency {
        group.addTask {
          await pipeline.run {
            await CallTask(
              pipeline: pipeline, opener: opener, deadline: worker.configuration.callDeadline,
              failpoints: worker.failpoints
            ).run()
          }
          return true
        }
      }
      group.addTask {
        await untilReleasing()
        return false
      }
      var calling = worker.configuration.concurrency
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
    worker.log.notice(
      "Stopping; calls in flight may finish", ["grace": .duration(worker.configuration.grace)])
    await pipeline.advance(to: .stopping)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await requests.wait(after: 1) }
      group.addTask {
        do { try await worker.loop.sleep(for: worker.configuration.grace) } catch {}  // all ended before
      }
      await group.next()
      group.cancelAll()
    }
    guard !Task.isCancelled else { return }
    worker.log.notice("Stopping at once; calls in flight are released")
    await pipeline.advance(to: .releasing)
  }

  /// Publishes how far this worker has claimed, which nobody else knows: short runs one after another would else leave
  /// the lanes where they began. A lane that another worker writes at the same moment is tried again.
  private func publishMarks() async {
    for _ in 0..<Self.lastTicks {
      let unpublished = await pipeline.shardsWithMarks.sorted()
      for shard in unpublished {
        guard let statements = await pipeline.shards[shard]?.queue.statements else { continue }
        do throws(JobQueueError) {
          let published = try await statements.tick(pipeline.marks(of: shard), ends: true)
            .run(on: databases.control, deadline: worker.configuration.farewellDeadline)
          await pipeline.published(published, shard: shard)
        } catch {
          worker.log.info("How far this worker came was not published", ["error": .string(error.description)])
          return
        }
      }
      if unpublished.isEmpty { return }
    }
  }

  private static let lastTicks = 20

  /// Lists this worker as ended, with what it has counted, and has the queue's history note that. Without an answer
  /// it stays listed with its last sign of life.
  private func retire() async {
    await operators.reportLast()
    let heardIn = await pipeline.shardsHeardIn.sorted()
    for shard in heardIn {
      guard let statements = await pipeline.shards[shard]?.queue.statements else { continue }
      do throws(JobQueueError) {
        try await statements.retire()
          .run(on: databases.control, deadline: worker.configuration.farewellDeadline)
      } catch { return }
    }
    if !heardIn.isEmpty { await counts.countLast() }
  }

  private func summary(_ drain: Drain) async -> WorkerSummary {
    let meters = worker.meters
    var summary = WorkerSummary(
      completed: meters.completed.value, retried: meters.retried.value, dead: meters.dead.value,
      released: meters.released.value, stale: meters.stale.value, calls: meters.calls.value)
    summary.unstored = await pipeline.held
    if worker.configuration.drainHorizon != nil {
      (summary.left, summary.isParked) = await drain.left()
    }
    worker.log.notice(
      "The worker has stopped",
      [
        "completed": .int(Int64(summary.completed)), "retried": .int(Int64(summary.retried)),
        "dead": .int(Int64(summary.dead)), "released": .int(Int64(summary.released)),
        "stale": .int(Int64(summary.stale)), "calls": .int(Int64(summary.calls)),
        "rescued": .int(Int64(meters.rescued.value)), "leases_lost": .int(Int64(meters.leasesLost.value)),
        "connects": .int(Int64(meters.connects.value)),
        "connect_failures": .int(Int64(meters.connectFailures.value)),
        "unstored": .int(Int64(summary.unstored)),
      ])
    return summary
  }
}

/// What a worker did, told when it ends.
public struct WorkerSummary: Sendable, Equatable {
  /// Results stored.
  public var completed = 0
  /// Attempts that failed and are to be tried again.
  public var retried = 0
  /// Jobs that died.
  public var dead = 0
  /// Jobs released untouched.
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
