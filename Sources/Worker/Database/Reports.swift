internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// What a worker hears from its operators, and reports to them, through the database: the operators' pauses, the lanes' shares and
/// the rules of images, which it obeys, and a report of itself.
///
/// Nothing depends on it: while it does not work, the pauses last heard of hold on.
struct OperatorLink {
  let context: WorkerContext
  let pipeline: Pipeline

  /// How often the pauses are read: an operator should not have to wait, and they are a few rows.
  private static let pausesEvery: Duration = .seconds(1)
  /// How often the report is written, which is a row each time, and the settings are read.
  private static let reportEvery: Duration = .seconds(5)

  func run() async {
    var retries = Retries(context, what: "hearing operators", pipeline: pipeline)
    var clock: ClockComparison?
    var nextPauses = EventLoop.now
    var nextReport = EventLoop.now
    while !Task.isCancelled, await pipeline.stage < .finished {
      do throws(JobQueueError) {
        if EventLoop.now >= nextPauses {
          let pauses = try await PauseDirectory(context.databases.control).inForce(deadline: context.deadline)
          await pipeline.obey(pauses)
        }
        if EventLoop.now >= nextReport {
          let directory = ShardDirectory(context.databases.control)
          await pipeline.share(try await directory.laneShares(deadline: context.deadline))
          let rules = try await directory.imageRules(deadline: context.deadline)
          await pipeline.with { $0.calls.follow(rules) }
          if let compared = try await report(clock, deadline: context.deadline) {
            clock = compared
            nextReport = EventLoop.now + Self.reportEvery
          }
        }
        retries.succeeded()
      } catch {
        if error.code == .permission {
          nextPauses = EventLoop.now + Retries.refusedFor
          nextReport = nextPauses
        } else {
          guard await retries.pause(after: error) else { return }
        }
      }
      do { try await context.loop.sleep(for: Self.pausesEvery) } catch { return }
    }
  }

  /// Writes what has been counted in the end: the sums of all workers are to have it. Without an answer they lack
  /// some seconds of this worker.
  func reportLast() async {
    do throws(JobQueueError) {
      _ = try await report(nil, deadline: context.configuration.shutdownGrace)
    } catch {
      context.log.info("The last counts of this worker were not kept", ["error": .string(error.description)])
    }
  }

  /// Writes the report; nil when there is no row to keep it in, before the first sign of life.
  private func report(
    _ clock: ClockComparison?, deadline: Duration
  ) async throws(JobQueueError) -> ClockComparison? {
    guard let shard = context.shards.first else { return nil }
    let report = WorkerReport(
      counters: context.metrics.reported, endpoints: await pipeline.with { $0.calls.endpointReports() },
      clockAhead: clock?.ahead,
      clockUncertainty: clock?.uncertainty)
    return try await context.statements(of: shard).tell(
      report, on: context.databases.control, deadline: deadline)
  }
}

/// Keeps the counts of the queue that operators read: each worker asks for it every two seconds, and whoever comes
/// first counts.
///
/// It has a loop of its own, so that long housekeeping does not let the counts age. No job depends on it.
struct CountKeeper {
  let context: WorkerContext
  let pipeline: Pipeline

  private static let interval: Duration = .seconds(2)

  func run() async {
    var retries = Retries(context, what: "counting what waits", pipeline: pipeline)
    while !Task.isCancelled, await pipeline.stage < .finished {
      var rest = Self.interval
      do throws(JobQueueError) {
        try await context.ask(WorkerStatements.refreshCounts(of: context.shards))
        retries.succeeded()
      } catch {
        if Retries.isRefused(error) {
          rest = Retries.refusedFor
        } else {
          guard await retries.pause(after: error) else { return }
        }
      }
      do { try await context.loop.sleep(for: rest) } catch { return }
    }
  }

  /// Counts once more where it is due, so that the history has what this worker reported last.
  func countLast() async {
    do throws(JobQueueError) {
      let count = WorkerStatements.refreshCounts(of: context.shards)
      try await context.ask(count, within: context.configuration.shutdownGrace)
    } catch {
      context.log.info("The queue was not counted in the end", ["error": .string(error.description)])
    }
  }
}
