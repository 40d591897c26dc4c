internal import EventLoop
internal import Queue
internal import Support

/// The pauses between tries of what the database did not do: random, so that a server that comes back is not met
/// by all workers at once, and at most two seconds, so that they are back soon after it.
///
/// While the database is away only the loop that leads tries; the others wait for it.
struct Retries {
  let worker: AnalysisWorker
  /// What is being tried, for the log.
  let what: String
  /// Whose loops share what they know of the database, and whose run ends when a draining worker may not do
  /// what a drain needs; nil before there is one.
  let pipeline: Pipeline?
  /// Whether this loop finds out for all whether the database is back.
  let leads: Bool

  private static let backoff = Backoff(base: .milliseconds(100), cap: .seconds(2))
  /// A right is granted by a person: there is no hurry, and each refusal is a line in the server's log.
  private static let permissionBackoff = Backoff(base: .milliseconds(100), cap: .seconds(30))

  /// What is asked of no shard by itself.
  static let noShard: Int16 = -1

  /// Failures in a row, by shard: that another fares better makes none of them the first.
  private var attempts: [Int16: Int] = [:]
  /// Failures in a row to reach the database at all, which are no shard's.
  private var losses = 0
  private var generator = SystemRandomNumberGenerator()

  init(worker: AnalysisWorker, what: String, pipeline: Pipeline? = nil, leads: Bool = false) {
    self.worker = worker
    self.what = what
    self.pipeline = pipeline
    self.leads = leads
  }

  /// Logs the failure (the first, then ever more rarely) and waits; false when the task was cancelled.
  mutating func pause(after failure: JobQueueError, shard: Int16 = Self.noShard) async -> Bool {
    let error = worker.login.named(failure)
    // Our own cancellation is the end of the run, no failure of the database.
    guard error.code != .cancelled, !Task.isCancelled else { return false }
    worker.meters.databaseErrors.add()
    // Somebody waits for a drain, and waiting mends no right; a lasting worker waits for the grant.
    if error.code == .permission, worker.configuration.drainHorizon != nil { await pipeline?.giveUp(error) }
    let attempt: Int
    if error.isConnectionLoss {
      losses += 1
      attempt = losses
    } else {
      attempt = attempts[shard, default: 0] + 1
      attempts[shard] = attempt
    }
    // Powers of two: a long outage does not fill the log.
    if attempt & (attempt - 1) == 0 {
      worker.log.warning(
        "A call of the database failed; trying again",
        ["task": .string(what), "attempt": .int(Int64(attempt)), "error": .string(error.description)])
    }
    await wait(after: error, attempt)
    return !Task.isCancelled
  }

  private mutating func wait(after error: JobQueueError, _ attempt: Int) async {
    guard let pipeline, error.isConnectionLoss else {
      let backoff = error.code == .permission ? Self.permissionBackoff : Self.backoff
      // Never without any pause: a drawn delay of nothing would make a spinning loop of a failing statement.
      return await sleep(max(backoff.delay(attempt: attempt, using: &generator), .milliseconds(10)))
    }
    // Half of it at least: this is what bounds how often the server is asked while it is away.
    let half = Self.backoff.ceiling(attempt: attempt) / 2
    let pause = half + Backoff(base: half, cap: half).delay(attempt: 1, using: &generator)
    if leads {
      pipeline.absence.began()
      await sleep(pause)
    } else if await pipeline.stage == .running {
      await pipeline.absence.wait(orPauseFor: pause)
    } else {
      await sleep(pause)  // a worker that stops stores what it can until its time is over
    }
  }

  private func sleep(_ pause: Duration) async {
    do { try await worker.loop.sleep(for: pause) } catch {}  // cancelled, as the caller sees for itself
  }

  mutating func succeeded(shard: Int16 = Self.noShard) {
    let failures = max(losses, attempts.removeValue(forKey: shard) ?? 0)
    losses = 0
    if leads { pipeline?.absence.ended() }
    if failures >= 3 { worker.log.notice("The database answers again", ["task": .string(what)]) }
  }
}
