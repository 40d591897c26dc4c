internal import EventLoop
internal import JobQueue
internal import Operations
internal import PostgreSQL

/// Hears when jobs were submitted, so that an idle worker begins at once instead of at its next poll.
///
/// Only a help: without it, for instance behind a pooler in transaction mode, polling finds every job.
struct WakeUpListener {
  /// The channel on which submitters notify.
  static let channel = "analysis_jobs"

  let worker: AnalysisWorker
  let pipeline: Pipeline

  func run() async {
    var attempt = 0
    var generator = SystemRandomNumberGenerator()
    let backoff = Backoff(base: .milliseconds(500), cap: .seconds(30))
    while !Task.isCancelled, await pipeline.stage == .running {
      do {
        let connection = try await Connection.connect(worker.configuration.database, on: worker.loop)
        let notifications = try await connection.listen(Self.channel)
        attempt = 0
        for await _ in notifications { await pipeline.wakeUp() }
        await connection.close()
      } catch {
        worker.log.debug("Wake-ups cannot be heard; polling goes on", ["error": .string("\(error)")])
      }
      attempt += 1
      do {
        try await worker.loop.sleep(
          for: backoff.delay(attempt: attempt, using: &generator) + .milliseconds(50))
      } catch { return }
    }
  }
}
