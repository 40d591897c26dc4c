internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support
internal import Synchronization

/// The jobs that have ended since somebody was last told.
///
/// What is told is a hint. So they are bounded: while nobody can be told, the oldest are forgotten.
final class UnsentEnds: Sendable {
  /// As many as one statement tells of.
  static let most = 10_000

  private let jobs = Mutex<[(shard: Int16, job: JobID)]>([])
  /// Rung when there are some.
  let bell: Bell

  init(loop: EventLoop) {
    bell = Bell(loop: loop)
  }

  func add(_ ended: some Collection<JobID>, in shard: Int16) {
    guard !ended.isEmpty else { return }
    jobs.withLock { jobs in
      jobs += ended.map { (shard, $0) }
      if jobs.count > Self.most { jobs.removeFirst(jobs.count - Self.most) }
    }
    bell.ring()
  }

  /// All that there are; they are not kept any longer.
  func take() -> [(shard: Int16, job: JobID)] {
    jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
  }
}

/// Tells whoever listens which jobs have ended, those of 10 ms in one statement, outside of the one that stores them.
///
/// The connection is that of the heartbeats, which has nothing to do for seconds on end.
struct EndedNotifier {
  let worker: AnalysisWorker
  let ended: UnsentEnds
  let databases: WorkerDatabases

  /// How often at most: notifications of all databases of a server are committed one after the other.
  static let pause: Duration = .milliseconds(10)
  /// No heartbeat is to wait for a hint for longer.
  private static let deadline: Duration = .seconds(1)

  func run() async {
    while !Task.isCancelled {
      await ended.bell.wait()
      await tell()
      do { try await worker.loop.sleep(for: Self.pause) } catch { return }
    }
  }

  /// Tells of what has ended. A hint that cannot be sent is dropped: whoever waits asks for the state in the end.
  ///
  /// Apart from the caller's task: one that is cancelled while it tells has told.
  func tell() async {
    let jobs = ended.take()
    guard !jobs.isEmpty else { return }
    await Task(executorPreference: worker.loop) {
      do throws(JobQueueError) {
        try await WorkerStatements.notifyEnded(jobs).run(on: databases.leases, deadline: Self.deadline)
      } catch {
        worker.log.debug("Nobody was told of ended jobs", ["error": .string(error.description)])
      }
    }.value
  }
}
