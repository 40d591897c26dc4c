internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support
internal import Synchronization

/// The pauses between tries of what the database did not do: random, so that a server that comes back is not met
/// by all workers at once, and at most two seconds, so that they are back soon after it.
///
/// While the database is away only the loop that leads tries; the others wait for it.
struct Retries {
  private let context: WorkerContext
  /// What is being tried, for the log.
  private let what: String
  /// Whose loops share what they know of the database, and whose run ends when a draining worker may not do
  /// what a drain needs; nil before there is one.
  private let pipeline: Pipeline?
  /// Whether this loop finds out for all whether the database is back.
  private let leads: Bool

  private static let backoff = Backoff(base: .milliseconds(100), cap: .seconds(2))
  /// A right is granted by a person: there is no hurry, and each refusal is a line in the server's log.
  private static let permissionBackoff = Backoff(base: .milliseconds(100), cap: .seconds(30))
  /// How long to leave alone what the role's rights do not allow, and what an older schema does not have.
  static let refusedFor: Duration = .seconds(60)

  /// What is asked of no shard by itself.
  static let noShard: Int16 = -1

  /// Failures in a row, by shard: that another fares better makes none of them the first.
  private var attempts: [Int16: Int] = [:]
  /// Failures in a row to reach the database at all, which are no shard's.
  private var losses = 0
  private var generator = SystemRandomNumberGenerator()

  init(_ context: WorkerContext, what: String, pipeline: Pipeline? = nil, leads: Bool = false) {
    self.context = context
    self.what = what
    self.pipeline = pipeline
    self.leads = leads
  }

  /// Logs the failure (the first, then ever more rarely) and waits; false when the task was cancelled.
  mutating func pause(after failure: JobQueueError, shard: Int16 = Self.noShard) async -> Bool {
    let error = context.login.named(failure)
    // Our own cancellation is the end of the run, no failure of the database.
    guard error.code != .cancelled, !Task.isCancelled else { return false }
    context.metrics.databaseErrors.add()
    // Somebody waits for a drain, and waiting mends no right; a lasting worker waits for the grant.
    if error.code == .permission, context.configuration.drainHorizon != nil { await pipeline?.giveUp(error) }
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
      context.log.warning(
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
      context.outage.began()
      await sleep(pause)
    } else if await pipeline.stage == .running {
      await context.outage.wait(orPauseFor: pause)
    } else {
      await sleep(pause)  // a worker that stops stores what it can until its time is over
    }
  }

  /// Whether the role's rights do not allow it, or an older schema does not have it.
  static func isRefused(_ error: JobQueueError) -> Bool {
    error.code == .permission || (error.underlying as? PostgreSQLError)?.isSchemaLacking == true
  }

  private func sleep(_ pause: Duration) async {
    do { try await context.loop.sleep(for: pause) } catch {}  // cancelled, as the caller sees for itself
  }

  mutating func succeeded(shard: Int16 = Self.noShard) {
    let failures = max(losses, attempts.removeValue(forKey: shard) ?? 0)
    losses = 0
    if leads { context.outage.ended() }
    if failures >= 3 { context.log.notice("The database answers again", ["task": .string(what)]) }
  }
}

/// Whether the database is away, as all loops of a worker know it together: while it is, one of them asks for it
/// and the others wait for that one.
///
/// The one that asks keeps the leases, for it always has something to ask. So an outage costs the server one
/// attempt to connect every one or two seconds of each worker, however many loops the worker has, and all loops
/// go on in the moment in which it is over.
final class DatabaseOutage: Sendable {
  /// The longest that a loop waits for the one that asks, in case only its own connection cannot be had.
  static let patience: Duration = .seconds(30)
  /// How often a loop that was cut off has the lease renewer probe it.
  private static let probeEvery: Duration = .seconds(1)

  private struct State {
    var isOn = false
    var probedAt: ContinuousClock.Instant?
    var waiting: [ObjectIdentifier: Bell] = [:]
  }

  /// Rung when the lease renewer should find out whether the database is there.
  let probeBell: Bell
  private let loop: EventLoop
  private let state = Mutex(State())

  init(loop: EventLoop) {
    self.loop = loop
    probeBell = Bell(loop: loop)
  }

  /// Whether it is away, as far as is known.
  var isOn: Bool { state.withLock { $0.isOn } }

  /// The lease renewer could not reach it.
  func began() {
    state.withLock { $0.isOn = true }
  }

  /// The lease renewer reached it: everybody goes on.
  func ended() {
    let wasOn = state.withLock { state in
      defer { state.isOn = false }
      return state.isOn
    }
    if wasOn { wakeAll() }
  }

  /// Ends all waits, for instance since the worker is to stop.
  func wakeAll() {
    let bells = state.withLock { Array($0.waiting.values) }
    for bell in bells { bell.ring() }
  }

  /// Waits after a loss of some other connection: until the outage is over or, when there is none as far as is
  /// known, for a pause.
  func wait(orPauseFor pause: Duration) async {
    let now = EventLoop.now
    let bell = Bell(loop: loop)
    let (isOn, probes) = state.withLock { state in
      let probes = !state.isOn && state.probedAt.map { now - $0 >= Self.probeEvery } ?? true
      if probes { state.probedAt = now }
      state.waiting[ObjectIdentifier(bell)] = bell
      return (state.isOn, probes)
    }
    if probes { probeBell.ring() }
    await bell.wait(atMost: isOn ? Self.patience : pause)
    state.withLock { _ = $0.waiting.removeValue(forKey: ObjectIdentifier(bell)) }
  }
}
