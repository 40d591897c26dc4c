internal import EventLoop
internal import JobQueue
internal import Operations

/// The pauses between tries while the database is away: full jitter, so that a server that comes back is
/// not met by all workers at once, and at most two seconds, so that they are back soon after it.
struct Retries {
  let worker: AnalysisWorker
  /// What is being tried, for the log.
  let what: String

  private static let backoff = Backoff(base: .milliseconds(100), cap: .seconds(2))
  private var attempt = 0
  private var generator = SystemRandomNumberGenerator()

  init(worker: AnalysisWorker, what: String) {
    self.worker = worker
    self.what = what
  }

  /// Logs the failure (the first, then ever more rarely) and waits; false when the task was cancelled.
  mutating func pause(after error: JobQueueError) async -> Bool {
    // Our own cancellation is the end of the run, no failure of the database.
    guard error.code != .cancelled, !Task.isCancelled else { return false }
    attempt += 1
    worker.meters.databaseErrors.add()
    // Powers of two: a long outage does not fill the log.
    if attempt & (attempt - 1) == 0 {
      worker.log.warning(
        "The database did not do what was asked; trying again",
        ["task": .string(what), "attempt": .int(Int64(attempt)), "error": .string(error.description)])
    }
    do {
      let delay = Self.backoff.delay(attempt: attempt, using: &generator)
      // Never without any pause: a drawn delay of nothing would make a spinning loop of a failing statement.
      try await worker.loop.sleep(for: max(delay, .milliseconds(10)))
      return true
    } catch {
      return false
    }
  }

  mutating func succeeded() {
    if attempt >= 3 { worker.log.notice("The database answers again", ["task": .string(what)]) }
    attempt = 0
  }
}
