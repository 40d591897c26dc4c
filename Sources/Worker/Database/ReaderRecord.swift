internal import Queue
internal import Support

/// A worker's role lets it read images. That it does, under whose account and on which machine, is recorded where it
/// begins and where it ends; each of its calls is known by the job's result or attempt.
struct ReaderRecord {
  let worker: AnalysisWorker
  let databases: WorkerDatabases

  /// Records the start, before the first image is read.
  ///
  /// - Throws: what passes by itself. A role that lacks the right does not stop the work: that would be worse.
  func start() async throws(JobQueueError) {
    do {
      try await WorkerStatements.recordStart(of: worker.identity, kinds: worker.configuration.kinds)
        .run(on: databases.control, as: worker.actor, deadline: worker.configuration.statementDeadline)
    } catch {
      guard !error.isTemporary else { throw error }
      worker.log.warning(
        "Cannot record the start of this worker in the audit",
        ["error": .string(worker.login.named(error).description)])
    }
  }

  /// Records the end, if the database answers.
  func stop() async {
    do throws(JobQueueError) {
      try await WorkerStatements.recordStop(of: worker.identity)
        .run(on: databases.control, as: worker.actor, deadline: worker.configuration.farewellDeadline)
      _ = try await WorkerStatements.chainAudit()
        .run(on: databases.control, deadline: worker.configuration.farewellDeadline)
    } catch {
      worker.log.info("The end of this worker was not recorded", ["error": .string(error.description)])
    }
  }
}
