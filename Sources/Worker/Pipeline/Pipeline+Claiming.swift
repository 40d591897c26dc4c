internal import AnalysisCore
internal import EventLoop
internal import JobQueue
internal import Operations

/// Which jobs are taken from the queue, and when.
extension Pipeline {
  /// What one claim asks for.
  struct ClaimRequest {
    let shard: Int16
    let count: Int
    let lanes: [LaneClaim]
    let statement: Statement<[ClaimedBatch]>
  }

  /// The next claim worth making; nil when there is no room, nothing is worth asking, or the worker stops.
  ///
  /// A claim is made for at least half a prefetch, unless nothing is held: many small claims would cost
  /// the database more than they bring.
  func nextClaim(shard: Int16) -> ClaimRequest? {
    guard stage == .running, var state = shards[shard] else { return nil }
    guard hasRoomForClaim else { return nil }
    let now = EventLoop.now
    let paused = paused(at: now)
    guard paused.count < configuration.kinds.count else { return nil }
    let count = min(room, configuration.claimSize)
    let lanes = state.claims.next(count: count, paused: paused, suspectInFlight: hasSuspect, now: now)
    shards[shard] = state
    guard !lanes.isEmpty else { return nil }
    isClaiming = true
    let statement = state.queue.statements.claim(
      firstBatch: batchIDs.take(lanes.count), lanes: lanes, count: count, lease: configuration.lease)
    return ClaimRequest(shard: shard, count: count, lanes: lanes, statement: statement)
  }

  /// Takes in what a claim brought.
  func claimed(_ claimed: [ClaimedBatch], by request: ClaimRequest) {
    isClaiming = false
    shards[request.shard]?.claims.claimed(
      claimed, for: request.lanes, count: request.count, now: EventLoop.now)
    for batch in claimed where !batch.jobs.isEmpty {
      batches[batch.id] = Batch(
        shard: request.shard, isSuspect: batch.lane.isForSuspects, unsettled: batch.jobs.count)
      meters.claimed.add(batch.jobs.count)
      for job in batch.jobs { take(job) }
    }
    meters.waiting.set(waiting)
    if !toRead.isEmpty { readBell.ring() }
  }

  /// Takes note that a claim failed and that it is unknown whether it was carried out. If it was, its batch
  /// gets no sign of life and comes back with its lease.
  func claimFailed(_ request: ClaimRequest) {
    isClaiming = false
    shards[request.shard]?.claims.claimFailed()
  }

  /// Whether enough can be taken for a claim to be worth its statement.
  private var hasRoomForClaim: Bool {
    room >= max(1, min(configuration.prefetch, configuration.claimSize) / 2)
  }

  /// A wake-up was heard, or jobs came back: every lane is looked at again.
  func wakeUp() {
    for shard in shards.keys { shards[shard]?.claims.wakeUp() }
    claimBell.ring()
  }

  /// How long the claiming loop may rest when nothing rings.
  var claimRest: Duration {
    guard hasRoomForClaim else { return configuration.idlePoll }
    let now = EventLoop.now
    let next =
      shards.values.map { $0.claims.nextAsk(paused: paused(at: now), now: now) }.min() ?? now
      + configuration.idlePoll
    return max(.milliseconds(1), min(configuration.idlePoll, next - now))
  }

  /// The kinds whose endpoint is not called at present.
  private func paused(at now: ContinuousClock.Instant) -> Set<AnalysisKind> {
    Set(configuration.kinds.filter { kind in gateOfKind[kind].map { !gates[$0].wantsJobs(at: now) } ?? true })
  }

  private func take(_ job: ClaimedJob) {
    guard stage == .running else {
      settle(job, .handedBack(HeldJob(batch: job.batch, job: job.id)))
      return
    }
    if job.isExpired {
      settle(job, .failed(.expired(job)))
    } else {
      toRead.append(job)
    }
  }
}

extension FailedAttempt {
  /// A job that was not started before its expiry: final, and no call was made.
  static func expired(_ job: ClaimedJob) -> FailedAttempt {
    FailedAttempt(
      batch: job.batch, job: job.id, decision: .dead, failureClass: .expired, code: nil,
      message: "The job was not started before its expiry.", errorID: nil, status: nil, calls: 0,
      maybeCounted: false, endpoint: nil)
  }
}
