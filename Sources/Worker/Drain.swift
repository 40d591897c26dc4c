internal import AnalysisCore
internal import EventLoop
internal import JobQueue
internal import Operations
internal import PostgreSQL

/// When a draining worker may end: nothing waits, nobody holds anything, and nothing is scheduled to run
/// before the horizon.
///
/// Batches that other workers hold of the kinds that run here are waited for: if their worker is lost, their
/// jobs come back here.
struct Drain {
  let pipeline: Pipeline
  let databases: WorkerDatabases
  let worker: AnalysisWorker
  let shards: [Int16]

  func waitUntilEmpty(horizon: Duration) async {
    var retries = Retries(worker: worker, what: "draining", pipeline: pipeline)
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
    guard await pipeline.isSettled else { return false }
    let status = try await QueueStatus.read(databases.control)
    let paused = await pipeline.kindsPausedBeyondHorizon
    let runnable = status.lanes.filter { lane in
      guard let kind = lane.lane.kind else { return false }
      return worker.configuration.kinds.contains(kind) && !paused.contains(kind)
    }
    guard runnable.allSatisfy({ $0.waiting.value == 0 }) else {
      // What waits may lie below a scan mark; a look from the beginning finds it.
      await pipeline.wakeUp()
      return false
    }
    // What this worker itself cannot store and waits for no more is in flight all the same.
    guard await runnable.map(\.inFlight).reduce(0, +) <= pipeline.abandoned else { return false }
    if let next = status.nextScheduledIn, next <= horizon.seconds { return false }
    return await pipeline.isSettled
  }

  /// What stays in the queue, in words, and whether some of it waits for a paused endpoint.
  func left() async -> (words: [String], isParked: Bool) {
    let paused = await pipeline.pausedBeyond(worker.configuration.drainHorizon ?? .zero)
    let status: QueueStatus
    do throws(JobQueueError) {
      status = try await lastStatus()
    } catch {
      return (["The queue could not be asked what is left: \(error.description)"], true)
    }
    var words: [String] = []
    var isParked = false
    for lane in status.lanes where lane.waiting.value > 0 {
      words.append("waiting in \(lane.lane): \(lane.waiting)")
      if let kind = lane.lane.kind, worker.configuration.kinds.contains(kind) { isParked = true }
    }
    words += paused.map { "not called: \($0)" }
    let unstored = await pipeline.abandoned
    if unstored > 0 { words.append("not stored, since another transaction holds the job: \(unstored)") }
    if status.scheduled.value > 0 { words.append("scheduled for later: \(status.scheduled)") }
    return (words, isParked && !paused.isEmpty)
  }

  /// Asks once more on a new connection, a few times over: that one was lost just then says nothing of the queue, and
  /// the drain has done its work. A database that stays away is not waited for.
  private func lastStatus() async throws(JobQueueError) -> QueueStatus {
    for _ in 1..<Self.lastQuestions {
      do throws(JobQueueError) {
        return try await QueueStatus.read(databases.control)
      } catch  where error.isConnectionLoss {
        continue
      }
    }
    return try await QueueStatus.read(databases.control)
  }

  private static let lastQuestions = 5
}

extension Duration {
  /// Seconds with their fraction.
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
