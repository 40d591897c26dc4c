internal import EventLoop
internal import Queue
internal import Support

/// Outcomes that cannot be stored yet, since somebody else's open transaction holds the job: a cancellation that a
/// back-end has not committed, above all. The leases are kept meanwhile, and all other outcomes are stored.
extension Pipeline {
  /// Such an outcome.
  struct Postponed {
    let shard: Int16
    let outcome: JobOutcome
    let since: ContinuousClock.Instant
    var tries = 1
    var due: ContinuousClock.Instant
    var isBeingStored = false

    func isDue(at now: ContinuousClock.Instant) -> Bool { !isBeingStored && due <= now }
  }

  /// The pauses between tries. The first is short: most transactions end within milliseconds.
  private static let pauses = Backoff(base: .milliseconds(100), cap: .seconds(5))

  /// How many outcomes are kept that are not being stored just now.
  var resting: Int { postponed.values.count { !$0.isBeingStored } }

  /// How many of those have waited for so long that a worker which ends waits for them no more: their leases run out.
  var abandoned: Int {
    let limit = EventLoop.now - configuration.grace
    return postponed.values.count { !$0.isBeingStored && $0.since <= limit }
  }

  /// How long the store may rest when nothing rings.
  var storeRest: Duration {
    let next = postponed.values.lazy.filter { !$0.isBeingStored }.map(\.due).min()
    return next.map { max(.milliseconds(1), min(.seconds(1), $0 - EventLoop.now)) } ?? .seconds(1)
  }

  /// Keeps an outcome that was answered as busy, to be tried again after a pause, which grows.
  func postpone(_ job: HeldJob, _ outcome: JobOutcome) {
    storing -= 1
    let now = EventLoop.now
    guard let lease = leases[job.lease] else {
      postponed[job] = nil
      meters.stale.add()
      return
    }
    var entry =
      postponed[job] ?? Postponed(shard: lease.shard, outcome: outcome, since: now, tries: 0, due: now)
    entry.tries += 1
    entry.due = now + Self.pauses.ceiling(attempt: entry.tries)
    entry.isBeingStored = false
    postponed[job] = entry
    if entry.tries == 4 {
      log.warning(
        "Another transaction holds a job, whose outcome is kept and tried again; look who leaves a transaction open",
        ["job": .string(job.job.description)])
    }
    // Its call is over: it endangers no other job any more.
    if lease.isQuarantined {
      leases[job.lease]?.isQuarantined = false
      claimBell.ring()
    }
  }

  /// Takes the outcomes of one shard that are to be tried again now.
  func nextPostponed() -> StoreRequest? {
    let now = EventLoop.now
    guard let shard = postponed.values.first(where: { $0.isDue(at: now) })?.shard else { return nil }
    var request = StoreRequest(shard: shard, isKnownBusy: true)
    for (job, entry) in postponed where entry.shard == shard && entry.isDue(at: now) && request.count < 500 {
      postponed[job]?.isBeingStored = true
      request.add(entry.outcome)
    }
    storing += request.count
    return request
  }

  /// The database was away while they were tried again.
  func postponeFailed(_ request: StoreRequest) {
    storing -= request.count
    for job in request.jobs { postponed[job]?.isBeingStored = false }
  }
}
