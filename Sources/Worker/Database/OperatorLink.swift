internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// What a worker and its operators tell each other through the database: the operators' pauses, the lanes' shares and
/// the rules of images, which it obeys, and a report of itself.
///
/// Nothing depends on it: while it does not work, the pauses last heard of hold on.
struct OperatorLink {
  let worker: AnalysisWorker
  let pipeline: Pipeline
  let databases: WorkerDatabases
  let shards: [Int16]

  /// How often the pauses are read: an operator should not have to wait, and they are a few rows.
  private static let pausesEvery: Duration = .seconds(1)
  /// How often the report is written, which is a row each time, and the settings are read.
  private static let reportEvery: Duration = .seconds(5)
  /// How long to leave alone what the role's rights do not allow.
  private static let refusedFor: Duration = .seconds(60)

  private var deadline: Duration { worker.configuration.statementDeadline }

  /// Reads the pauses once; those in force before a worker starts hold for it from its first claim on.
  static func pauses(
    _ databases: WorkerDatabases, _ worker: AnalysisWorker
  ) async throws(JobQueueError) -> [OperatorPause] {
    do {
      return try await PauseDirectory(databases.control)
        .inForce(deadline: worker.configuration.statementDeadline)
    } catch {
      guard error.code == .permission else { throw error }
      // To stop all work for it would be worse than to miss a pause.
      worker.log.warning(
        "Cannot read the operators' pauses, and does not obey them",
        ["error": .string(worker.login.named(error).description)])
      return []
    }
  }

  func run() async {
    var retries = Retries(worker: worker, what: "hearing operators", pipeline: pipeline)
    var clock: ClockComparison?
    var nextPauses = EventLoop.now
    var nextReport = EventLoop.now
    while !Task.isCancelled, await pipeline.stage < .finished {
      do throws(JobQueueError) {
        if EventLoop.now >= nextPauses {
          let pauses = try await PauseDirectory(databases.control).inForce(deadline: deadline)
          await pipeline.obey(pauses)
        }
        if EventLoop.now >= nextReport {
          let directory = ShardDirectory(databases.control)
          await pipeline.share(try await directory.laneShares(deadline: deadline))
          await pipeline.follow(try await directory.imageRules(deadline: deadline))
        }
        if EventLoop.now >= nextReport, let compared = try await report(clock, deadline: deadline) {
          clock = compared
          nextReport = EventLoop.now + Self.reportEvery
        }
        retries.succeeded()
      } catch {
        if error.code == .permission {
          nextPauses = EventLoop.now + Self.refusedFor
          nextReport = nextPauses
        } else {
          guard await retries.pause(after: error) else { return }
        }
      }
      do { try await worker.loop.sleep(for: Self.pausesEvery) } catch { return }
    }
  }

  /// Writes what has been counted in the end: the sums of all workers are to have it. Without an answer they lack
  /// some seconds of this worker.
  func reportLast() async {
    do throws(JobQueueError) {
      _ = try await report(nil, deadline: worker.configuration.farewellDeadline)
    } catch {
      worker.log.info("The last counts of this worker were not kept", ["error": .string(error.description)])
    }
  }

  /// Writes the report; nil when there is no row to keep it in, before the first sign of life.
  private func report(
    _ clock: ClockComparison?, deadline: Duration
  ) async throws(JobQueueError) -> ClockComparison? {
    guard let shard = shards.first, let statements = await pipeline.shards[shard]?.queue.statements else {
      return nil
    }
    let report = WorkerReport(
      counters: worker.meters.told, endpoints: await pipeline.endpointReports(), clockAhead: clock?.ahead,
      clockUncertainty: clock?.uncertainty)
    return try await statements.tell(report, on: databases.control, deadline: deadline)
  }
}
