import Administration
import AnalysisCore
import EventLoop
import JobQueue
import PostgreSQL
import Synchronization

/// Waits for jobs with a time limit, and remembers how those ended that did.
final class JobWatch: Sendable {
  private let database: ConnectionPool
  private let ended = Mutex<[JobID: JobState]>([:])

  init(database: ConnectionPool) {
    self.database = database
  }

  /// How the jobs ended that have.
  var states: [JobID: JobState] { ended.withLock { $0 } }

  /// Waits until all have ended or the time is over, which is no error. Answers what went wrong.
  func wait(
    for jobs: [JobID], _ waiting: SubmitRequest.Waiting,
    isAway: @escaping @Sendable (JobQueueError) -> Void, ended tell: @escaping @Sendable () -> Void
  ) async -> (any Error)? {
    await withTaskGroup(of: (any Error)?.self) { group in
      group.addTask {
        do {
          _ = try await JobDirectory(self.database).wait(
            for: jobs,
            finished: { job, state in
              self.ended.withLock { $0[job] = state }
              tell()
            }, isAway: isAway)
          return nil
        } catch {
          return error
        }
      }
      if case .atMost(let limit) = waiting {
        let loop = database.loop
        group.addTask {
          do {
            try await loop.sleep(for: limit)
            return nil
          } catch {
            return error
          }
        }
      }
      let first = await group.next() ?? nil
      group.cancelAll()
      return first
    }
  }
}
