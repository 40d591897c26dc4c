internal import EventLoop
internal import Queue
internal import Support

/// The way of the outcomes to the database, many together.
extension Pipeline {
  /// What is stored in one go for one shard.
  struct StoreRequest: Sendable {
    let shard: Int16
    /// Whether these were busy before.
    var isKnownBusy = false
    var completed: [CompletedJob] = []
    var failed: [FailedAttempt] = []
    var released: [HeldJob] = []

    var count: Int { completed.count + failed.count + released.count }
    var jobs: [HeldJob] { completed.map(\.held) + failed.map(\.held) + released }

    mutating func add(_ outcome: JobOutcome) {
      switch outcome {
      case .completed(let job): completed.append(job)
      case .failed(let attempt): failed.append(attempt)
      case .released(let job): released.append(job)
      }
    }
  }

  /// Keeps an outcome until it is stored, and sees to it that this is soon.
  func record(_ job: ClaimedJob, _ outcome: JobOutcome) {
    cleaned(job)
    guard let lease = leases[job.lease] else {
      // The lease went; the database would store nothing, and another worker has the job.
      meters.stale.add()
      return
    }
    outcomes.append((lease.shard, outcome))
    // With nothing else here there is nothing to wait for.
    if outcomes.count >= configuration.flushCount || stage != .running || waiting + inFlight == 0 {
      storeNow()
    } else if flushTimer == nil {
      flushTimer = loop.schedule(after: configuration.flushDelay) { [weak self] in
        self?.assumeIsolated { $0.storeNow() }
      }
    }
  }

  private func storeNow() {
    if let flushTimer { loop.cancel(flushTimer) }
    flushTimer = nil
    isStoreDue = true
    storeBell.ring()
  }

  /// Takes what is to be stored now, of one shard; nil when there is nothing, or when more is to come first: a
  /// statement has its price, however few it is for.
  func nextStore() -> StoreRequest? {
    if let request = nextPostponed() { return request }
    guard isStoreDue || stage != .running, let shard = outcomes.first?.shard else { return nil }
    var request = StoreRequest(shard: shard)
    var rest: [(shard: Int16, outcome: JobOutcome)] = []
    for entry in outcomes {
      guard entry.shard == shard, request.count < 500 else {
        rest.append(entry)
        continue
      }
      request.add(entry.outcome)
    }
    outcomes = rest
    isStoreDue = !rest.isEmpty
    storing += request.count
    return request
  }

  /// The database was away: the outcomes are kept and stored later, behind those of other shards, which may
  /// fare better.
  func storeFailed(_ request: StoreRequest) {
    if request.isKnownBusy { return postponeFailed(request) }
    storing -= request.count
    outcomes.append(
      contentsOf: request.completed.map { (request.shard, .completed($0)) }
        + request.failed.map { (request.shard, .failed($0)) }
        + request.released.map { (request.shard, .released($0)) })
    isStoreDue = true
  }

  func stored(_ jobs: [CompletedJob], _ outcome: CompletionOutcome) {
    meters.completed.add(outcome.stored.count)
    if !outcome.stored.isEmpty { meters.lastSuccess.set(Int(UnixTime.now.seconds)) }
    meters.stale.add(outcome.stale.count)
    for (job, reason) in outcome.rejected {
      meters.dead.add()
      log.error(
        "A result was refused by the database", ["job": .string(job.description), "reason": .string(reason)])
    }
    letGo(outcome.unrecorded)
    for job in jobs where outcome.busy.contains(job.job) { postpone(job.held, .completed(job)) }
    forget(jobs.filter { !outcome.busy.contains($0.job) }.map(\.held))
  }

  func stored(_ attempts: [FailedAttempt], _ outcome: FailureOutcome) {
    letGo(outcome.unrecorded)
    for attempt in attempts where outcome.unrecorded[attempt.job] == nil {
      switch outcome.ended[attempt.job] ?? .stale {
      case .busy: postpone(attempt.held, .failed(attempt))
      case .retried: (attempt.isReleased ? meters.released : meters.retried).add()
      case .stale: meters.stale.add()
      case .dead:
        meters.dead.add()
        log.warning(
          "A job is dead",
          [
            "job": .string(attempt.job.description), "class": .string(attempt.failureClass.rawValue),
            "message": .string(attempt.message),
          ])
      }
    }
    forget(attempts.filter { outcome.ended[$0.job] != .busy }.map(\.held))
  }

  func stored(_ jobs: [HeldJob], _ outcome: ReleaseOutcome) {
    meters.released.add(outcome.back.count)
    meters.stale.add(jobs.count - outcome.back.count - outcome.busy.count - outcome.unrecorded.count)
    letGo(outcome.unrecorded)
    for job in jobs where outcome.busy.contains(job.job) { postpone(job, .released(job)) }
    forget(jobs.filter { !outcome.busy.contains($0.job) })
  }

  /// Nothing could be written of these jobs: their leases run out, and the queue treats them as lost.
  private func letGo(_ jobs: [JobID: String]) {
    meters.unrecorded.add(jobs.count)
    for (job, reason) in jobs {
      log.error(
        "The database can record nothing of a job, which runs again when its lease has run out; look at the reason",
        ["job": .string(job.description), "reason": .string(reason)])
    }
  }

  /// The named leases have one job less each time that they are named; an empty one needs no lease.
  private func forget(_ ended: [HeldJob]) {
    storing -= ended.count
    for job in ended {
      postponed[job] = nil
      let id = job.lease
      guard let left = leases[id]?.remaining else { continue }
      if left > 1 {
        leases[id]?.remaining = left - 1
      } else {
        let wasQuarantined = leases.removeValue(forKey: id)?.isQuarantined == true
        if wasQuarantined { claimBell.ring() }
      }
    }
    if held == 0 { emptyBell.ring() }
    if mayClaim { claimBell.ring() }
  }
}
