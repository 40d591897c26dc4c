internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// When a draining worker may end: nothing waits, nobody holds anything, and nothing is scheduled to run
/// before the horizon.
///
/// Leases that other workers hold of the types that run here are waited for: if their worker is lost, their
/// jobs come back here.
struct Drain {
  let context: WorkerContext
  let pipeline: Pipeline

  func waitUntilEmpty(horizon: Duration) async {
    var retries = Retries(context, what: "draining", pipeline: pipeline)
    var rest = Duration.milliseconds(50)
    while !Task.isCancelled {
      do throws(JobQueueError) {
        if try await isDone(horizon) { return }
        retries.succeeded()
      } catch {
        guard await retries.pause(after: error) else { return }
      }
      await pipeline.emptyBell.wait(atMost: rest)
      rest = min(rest * 2, .seconds(1))
    }
  }

  private func isDone(_ horizon: Duration) async throws(JobQueueError) -> Bool {
    guard await pipeline.isStored else { return false }
    let paused = await pipeline.with { $0.calls.kindsPausedBeyond(horizon) }
    let lanes = context.configuration.kinds.filter { !paused.contains($0) }.flatMap(Lane.all(of:))
    let found = try await context.ask(
      ShardWork.statement(shards: context.shards, lanes: lanes, all: true, late: true))
    var isDone = true
    for (shard, work) in found {
      if !work.waiting.isEmpty {
        // What waits may lie below a scan mark, which no claim would find before the next sweep.
        _ = try await context.ask(context.statements(of: shard).sweep())
        await pipeline.wakeUp()
        isDone = false
      }
      if let next = work.nextRun, next <= horizon.inSeconds { isDone = false }
    }
    // What this worker itself cannot store and waits for no more is held all the same.
    let held = found.values.reduce(0) { $0 + $1.held }
    guard isDone, await held <= pipeline.with({ $0.outcomes.abandoned }) else { return false }
    return await pipeline.isStored
  }

  /// What stays in the queue, a line each, and whether some of it waits for a paused endpoint.
  func left() async -> (lines: [String], isParked: Bool) {
    let horizon = context.configuration.drainHorizon ?? .zero
    let paused = await pipeline.with { $0.calls.pausedBeyond(horizon) }
    let jobs: WaitingJobs
    do throws(JobQueueError) {
      jobs = try await lastCount()
    } catch {
      return (["The queue could not be asked what is left: \(context.login.named(error).description)"], true)
    }
    var lines: [String] = []
    var isParked = false
    for (lane, count) in jobs.lanes {
      lines.append("waiting in \(lane): \(count)")
      if let kind = lane.kind, context.configuration.kinds.contains(kind) { isParked = true }
    }
    lines += paused.map { "not called: \($0)" }
    let unstored = await pipeline.with { $0.outcomes.abandoned }
    if unstored > 0 { lines.append("not stored, since another transaction holds the job: \(unstored)") }
    if jobs.scheduled.value > 0 { lines.append("scheduled for later: \(jobs.scheduled)") }
    return (lines, isParked && !paused.isEmpty)
  }

  /// Asks once more on a new connection, a few times over: that one was lost just then says nothing of the queue, and
  /// the drain has done its work. A database that stays away is not waited for.
  private func lastCount() async throws(JobQueueError) -> WaitingJobs {
    for _ in 1..<Self.lastQuestions {
      do throws(JobQueueError) {
        return try await WaitingJobs.read(context.databases.control)
      } catch  where error.isConnectionLoss {
        continue
      }
    }
    return try await WaitingJobs.read(context.databases.control)
  }

  private static let lastQuestions = 5
}
