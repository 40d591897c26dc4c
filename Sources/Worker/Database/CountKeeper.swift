internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// Keeps the counts of the queue that operators read: each worker asks for it every two seconds, and whoever comes
/// first counts.
///
/// It has a loop of its own, so that long housekeeping does not let the counts age. No job depends on it.
struct CountKeeper {
  let worker: AnalysisWorker
  let pipeline: Pipeline
  let databases: WorkerDatabases
  let shards: [Int16]

  private static let interval: Duration = .seconds(2)
  /// How long to leave alone what the role's rights do not allow, and what an older schema does not have.
  private static let refusedFor: Duration = .seconds(60)

  func run() async {
    var retries = Retries(worker: worker, what: "counting what waits", pipeline: pipeline)
    while !Task.isCancelled, await pipeline.stage < .finished {
      var rest = Self.interval
      do throws(JobQueueError) {
        try await WorkerStatements.refreshCounts(of: shards)
          .run(on: databases.control, deadline: worker.configuration.statementDeadline)
        retries.succeeded()
      } catch {
        if error.code == .permission || (error.underlying as? PostgreSQLError)?.isSchemaLacking == true {
          rest = Self.refusedFor
        } else {
          guard await retries.pause(after: error) else { return }
        }
      }
      do { try await worker.loop.sleep(for: rest) } catch { return }
    }
  }

  /// Counts once more where it is due, so that the history has what this worker reported last.
  func countLast() async {
    do throws(JobQueueError) {
      try await WorkerStatements.refreshCounts(of: shards)
        .run(on: databases.control, deadline: worker.configuration.farewellDeadline)
    } catch {
      worker.log.info("The queue was not counted in the end", ["error": .string(error.description)])
    }
  }
}
