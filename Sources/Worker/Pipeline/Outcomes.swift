internal import EventLoop
internal import Queue
internal import Support

/// What became of claimed jobs, until the queue has stored it.
///
/// The rule: an outcome is kept until the database has answered for it. Outcomes are stored together: when there are
/// enough of them, when the first has waited for the flush delay, or when nothing else is held. What could not be stored
/// waits in front of nothing else. What somebody else's open transaction keeps from being stored, such as a cancellation
/// that a back-end has not committed, is postponed and tried again by itself, with its lease kept.
struct Outcomes {
  private struct Postponed {
    let shard: Int16
    let outcome: JobOutcome
    let since: ContinuousClock.Instant
    var tries = 0
    var due: ContinuousClock.Instant
    var isBeingStored = false

    func isDue(at now: ContinuousClock.Instant) -> Bool { !isBeingStored && due <= now }
  }

  /// The pauses between tries. The first is short: most transactions end within milliseconds.
  private static let pauses = Backoff(base: .milliseconds(100), cap: .seconds(5))
  /// How many outcomes one store takes.
  private static let mostPerStore = 500

  private let context: WorkerContext
  private var buffered: [(shard: Int16, outcome: JobOutcome)] = []
  /// Whether they are to be stored now.
  private var isDue = false
  /// Makes them due, unless they are before.
  private var flushTimer: TimerToken?
  private var postponed: [HeldJob: Postponed] = [:]
  /// How many outcomes are being stored.
  private(set) var storing = 0

  init(_ context: WorkerContext) { self.context = context }

  // MARK: How much there is

  /// All that have no answer yet.
  var count: Int { buffered.count + storing + resting }

  /// Those that the store has not kept up with.
  var unstored: Int { buffered.count + postponed.count }

  /// How many are postponed and not being stored just now.
  private var resting: Int { postponed.values.count { !$0.isBeingStored } }

  /// How many of those have waited for so long that a worker which ends waits for them no more: their leases run out.
  var abandoned: Int {
    let limit = EventLoop.now - context.configuration.grace
    return postponed.values.count { !$0.isBeingStored && $0.since <= limit }
  }

  /// How long the store may rest when nothing rings.
  var rest: Duration {
    let next = postponed.values.lazy.filter { !$0.isBeingStored }.map(\.due).min()
    return next.map { max(.milliseconds(1), min(.seconds(1), $0 - EventLoop.now)) } ?? .seconds(1)
  }

  // MARK: Coming

  /// Keeps an outcome until it is stored; says whether what is here is to be stored now.
  ///
  /// - Parameter isLast: Whether there is nothing to wait for.
  mutating func add(_ outcome: JobOutcome, in shard: Int16, isLast: Bool) -> Bool {
    buffered.append((shard, outcome))
    guard isLast || buffered.count >= context.configuration.flushCount else { return false }
    flush()
    return true
  }

  /// Whether a timer will flush.
  var hasTimer: Bool { flushTimer != nil }

  mutating func setTimer(_ timer: TimerToken) { flushTimer = timer }

  /// What is here is to be stored now.
  mutating func flush() {
    if let flushTimer { context.loop.cancel(flushTimer) }
    flushTimer = nil
    isDue = true
  }

  // MARK: Being stored

  /// What is stored in one go for one shard.
  struct StoreRequest: Sendable {
    let shard: Int16
    /// Whether these were busy before.
    var isKnownBusy = false
    var completed: [CompletedJob] = []
    var failed: [FailedAttempt] = []
    var released: [HeldJob] = []

    fileprivate var count: Int { completed.count + failed.count + released.count }

    fileprivate mutating func add(_ outcome: JobOutcome) {
      switch outcome {
      case .completed(let job): completed.append(job)
      case .failed(let attempt): failed.append(attempt)
      case .released(let job): released.append(job)
      }
    }
  }

  /// Takes what is to be stored now, of one shard; nil when there is nothing, or when more is to come first: a
  /// statement has its price, however few it is for.
  ///
  /// - Parameter all: Whether nothing is waited for.
  mutating func nextStore(all: Bool) -> StoreRequest? {
    if let request = nextPostponed() { return request }
    guard isDue || all, let shard = buffered.first?.shard else { return nil }
    var request = StoreRequest(shard: shard)
    var rest: [(shard: Int16, outcome: JobOutcome)] = []
    for entry in buffered {
      guard entry.shard == shard, request.count < Self.mostPerStore else {
        rest.append(entry)
        continue
      }
      request.add(entry.outcome)
    }
    buffered = rest
    isDue = !rest.isEmpty
    storing += request.count
    return request
  }

  /// Takes the outcomes of one shard that are to be tried again now.
  private mutating func nextPostponed() -> StoreRequest? {
    let now = EventLoop.now
    guard let shard = postponed.values.first(where: { $0.isDue(at: now) })?.shard else { return nil }
    var request = StoreRequest(shard: shard, isKnownBusy: true)
    for (job, entry) in postponed
    where entry.shard == shard && entry.isDue(at: now) && request.count < Self.mostPerStore {
      postponed[job]?.isBeingStored = true
      request.add(entry.outcome)
    }
    storing += request.count
    return request
  }

  /// The database was away: the outcomes are kept and stored later, behind those of other shards, which may
  /// fare better.
  mutating func storeFailed(_ request: StoreRequest) {
    storing -= request.count
    guard !request.isKnownBusy else {
      let jobs = request.completed.map(\.held) + request.failed.map(\.held) + request.released
      for job in jobs { postponed[job]?.isBeingStored = false }
      return
    }
    buffered.append(
      contentsOf: request.completed.map { (request.shard, .completed($0)) }
        + request.failed.map { (request.shard, .failed($0)) }
        + request.released.map { (request.shard, .released($0)) })
    isDue = true
  }

  // MARK: Answered

  /// What the database has answered for.
  struct Answered {
    /// The jobs of which nothing is kept any more.
    fileprivate(set) var ended: [HeldJob] = []
    /// Outcomes of jobs that somebody else's open transaction holds.
    fileprivate(set) var busy: [(job: HeldJob, outcome: JobOutcome)] = []
  }

  mutating func stored(_ jobs: [CompletedJob], _ outcome: CompletionOutcome) -> Answered {
    context.metrics.completed.add(outcome.stored.count)
    if !outcome.stored.isEmpty { context.metrics.lastSuccess.set(Int(UnixTime.now.seconds)) }
    context.metrics.stale.add(outcome.stale.count)
    for (job, reason) in outcome.rejected {
      context.metrics.dead.add()
      context.log.error(
        "A result was refused by the database", ["job": .string(job.description), "reason": .string(reason)])
    }
    report(unrecorded: outcome.unrecorded)
    return answered(jobs, \.held, isBusy: { outcome.busy.contains($0.job) }) { .completed($0) }
  }

  mutating func stored(_ attempts: [FailedAttempt], _ outcome: FailureOutcome) -> Answered {
    report(unrecorded: outcome.unrecorded)
    for attempt in attempts where outcome.unrecorded[attempt.job] == nil {
      switch outcome.ended[attempt.job] ?? .stale {
      case .busy: break
      case .retried: (attempt.isReleased ? context.metrics.released : context.metrics.retried).add()
      case .stale: context.metrics.stale.add()
      case .dead:
        context.metrics.dead.add()
        context.log.warning(
          "A job is dead",
          [
            "job": .string(attempt.job.description), "class": .string(attempt.failureClass.rawValue),
            "message": .string(attempt.message),
          ])
      }
    }
    return answered(attempts, \.held, isBusy: { outcome.ended[$0.job] == .busy }) { .failed($0) }
  }

  mutating func stored(_ jobs: [HeldJob], _ outcome: ReleaseOutcome) -> Answered {
    context.metrics.released.add(outcome.back.count)
    context.metrics.stale.add(
      jobs.count - outcome.back.count - outcome.busy.count - outcome.unrecorded.count)
    report(unrecorded: outcome.unrecorded)
    return answered(jobs, \.self, isBusy: { outcome.busy.contains($0.job) }) { .released($0) }
  }

  private mutating func answered<Item>(
    _ items: [Item], _ held: (Item) -> HeldJob, isBusy: (Item) -> Bool, _ outcome: (Item) -> JobOutcome
  ) -> Answered {
    var answered = Answered()
    for item in items {
      let job = held(item)
      if isBusy(item) {
        answered.busy.append((job, outcome(item)))
      } else {
        answered.ended.append(job)
        postponed[job] = nil
      }
    }
    storing -= items.count
    return answered
  }

  /// Nothing could be written of these jobs: their leases run out, and the queue treats them as lost.
  private func report(unrecorded jobs: [JobID: String]) {
    context.metrics.unrecorded.add(jobs.count)
    for (job, reason) in jobs {
      context.log.error(
        "The database can record nothing of a job, which runs again when its lease has run out; look at the reason",
        ["job": .string(job.description), "reason": .string(reason)])
    }
  }

  /// Keeps an outcome that was answered as busy, to be tried again after a pause, which grows.
  ///
  /// - Parameter shard: Where its lease is; nil when that has gone, and nothing of it can be stored any more.
  mutating func postpone(_ job: HeldJob, _ outcome: JobOutcome, in shard: Int16?) {
    guard let shard else {
      postponed[job] = nil
      context.metrics.stale.add()
      return
    }
    let now = EventLoop.now
    var entry = postponed[job] ?? Postponed(shard: shard, outcome: outcome, since: now, due: now)
    entry.tries += 1
    entry.due = now + Self.pauses.ceiling(attempt: entry.tries)
    entry.isBeingStored = false
    postponed[job] = entry
    guard entry.tries == 4 else { return }
    context.log.warning(
      "Another transaction holds a job, whose outcome is kept and tried again; look who leaves a transaction open",
      ["job": .string(job.job.description)])
  }
}

/// What became of a claimed job, to be stored.
enum JobOutcome: Sendable {
  case completed(CompletedJob)
  case failed(FailedAttempt)
  case released(HeldJob)
}
