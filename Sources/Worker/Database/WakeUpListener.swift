internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// Hears when jobs were submitted, so that an idle worker begins at once instead of at its next poll.
///
/// Only a help: without it, for instance behind a pooler in transaction mode, polling finds every job.
struct WakeUpListener {
  let worker: AnalysisWorker
  let pipeline: Pipeline

  func run() async {
    let database = worker.meters.watching(worker.configuration.database)
    var attempt = 0
    var generator = SystemRandomNumberGenerator()
    let backoff = Backoff(base: .milliseconds(500), cap: .seconds(30))
    while !Task.isCancelled, await pipeline.stage == .running {
      do {
        let connection = try await Connection.connect(database, on: worker.loop)
        guard try await connection.isDirect() else {
          worker.log.notice(
            "Wake-ups are not heard through a pooler; polling finds every job")
          await connection.close()
          return
        }
        let notifications = try await connection.listen(QueueChannel.jobs.rawValue)
        attempt = 0
        for await notification in notifications {
          // The shard; whoever notifies by other means may say nothing.
          if let shard = Int16(notification.payload) {
            await pipeline.wakeUp(shard: shard)
          } else {
            await pipeline.wakeUp()
          }
        }
        await connection.close()
      } catch {
        worker.log.debug("Wake-ups cannot be heard; polling goes on", ["error": .string("\(error)")])
      }
      attempt += 1
      await pipeline.absence.wait(
        orPauseFor: backoff.delay(attempt: attempt, using: &generator) + .milliseconds(50))
    }
  }
}
