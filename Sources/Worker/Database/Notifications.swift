internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support
internal import Synchronization

/// Hears when jobs were submitted, so that an idle worker begins at once instead of at its next poll.
///
/// Only a help: without it, for instance behind a pooler in transaction mode, polling finds every job.
struct WakeUpListener {
  let context: WorkerContext
  let pipeline: Pipeline

  func run() async {
    var retries = Retries(context, what: "hearing wake-ups", pipeline: pipeline)
    while !Task.isCancelled, await pipeline.stage == .running {
      do {
        let connection = try await Connection.connect(
          context.databases.control.configuration, on: context.loop)
        guard try await connection.isDirect() else {
          context.log.notice(
            "Wake-ups are not heard through a pooler; polling finds every job")
          await connection.close()
          return
        }
        let notifications = try await connection.listen(QueueChannel.jobs.rawValue)
        retries.helped()
        for await notification in notifications {
          // The shard; whoever notifies by other means may say nothing.
          await pipeline.wakeUp(Int16(notification.payload))
        }
        await connection.close()
      } catch {
        context.log.debug("Wake-ups cannot be heard; polling goes on", ["error": .string("\(error)")])
      }
      await retries.pauseOfHelp()
    }
  }
}

/// Notifies whoever listens of the jobs that have ended, those of 10 ms in one statement, outside of the one that stores
/// them.
///
/// A notification is a hint: while none can be sent, the oldest jobs are forgotten. The connection is that of the
/// heartbeats, which has nothing to do for seconds on end.
final class EndedNotifier: Sendable {
  /// As many jobs as one statement can name.
  private static let most = 10_000
  /// How often at most: notifications of all databases of a server are committed one after the other.
  private static let pause: Duration = .milliseconds(10)
  /// No heartbeat is to wait for a hint for longer.
  private static let deadline: Duration = .seconds(1)

  private let database: ConnectionPool
  private let log: Log
  private let jobs = Mutex<[(shard: Int16, job: JobID)]>([])
  /// Rung when there are some.
  private let bell: Bell

  init(_ database: ConnectionPool, log: Log) {
    self.database = database
    self.log = log
    bell = Bell(loop: database.loop)
  }

  func add(_ ended: some Collection<JobID>, in shard: Int16) {
    guard !ended.isEmpty else { return }
    jobs.withLock { jobs in
      jobs += ended.map { (shard, $0) }
      if jobs.count > Self.most { jobs.removeFirst(jobs.count - Self.most) }
    }
    bell.ring()
  }

  func run() async {
    while !Task.isCancelled {
      await bell.wait()
      await notify()
      do { try await database.loop.sleep(for: Self.pause) } catch { return }
    }
  }

  /// Notifies of what has ended. A hint that cannot be sent is dropped: whoever waits asks for the state in the end.
  ///
  /// Apart from the caller's task: one that is cancelled meanwhile has notified.
  func notify() async {
    let ended = jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    guard !ended.isEmpty else { return }
    await Task(executorPreference: database.loop) { [database, log] in
      do throws(JobQueueError) {
        try await WorkerStatements.notifyEnded(ended).run(on: database, deadline: Self.deadline)
      } catch {
        log.debug("Nobody was told of ended jobs", ["error": .string(error.description)])
      }
    }.value
  }
}
