internal import Endpoint
internal import EventLoop
internal import Images
internal import Queue
internal import Support

/// What one worker process holds: the jobs between their claim and their outcome.
///
/// What it knows is in three values, each with a rule of its own: ``Leases``, ``Calls`` and ``Outcomes``. The pipeline
/// passes jobs from one to the next and rings the bells of the loops that feed it (claiming, reading images, calling,
/// storing, keeping leases).
///
/// An actor on the event loop of the database's connections, so that a job passes from its row to its call and from
/// the answer to the store without a change of thread.
actor Pipeline {
  nonisolated let context: WorkerContext
  var leases: Leases
  var calls: Calls
  var outcomes: Outcomes
  private(set) var stage = Stage.running
  /// Why the run ends before its work is done.
  private(set) var fault: JobQueueError?

  /// Rung when jobs are wanted.
  nonisolated let claimBell: Bell
  /// Rung when images are to be read.
  nonisolated let readBell: Bell
  /// Rung when outcomes are to be stored now.
  nonisolated let storeBell: Bell
  /// Rung when the worker is to stop, or to stop faster.
  nonisolated let stageBell: Bell
  /// Rung when nothing is held any more.
  nonisolated let emptyBell: Bell

  enum Stage: Int, Comparable {
    case running
    /// No claims any more; calls in flight go on.
    case stopping
    /// Calls in flight are cut off and released.
    case releasing
    /// Nothing is held; what is still buffered is stored.
    case finished

    static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }
  }

  init(_ context: WorkerContext) {
    self.context = context
    calls = Calls(context)
    leases = Leases(context, gates: calls.kindsOfGates)
    outcomes = Outcomes(context)
    claimBell = Bell(loop: context.loop)
    readBell = Bell(loop: context.loop)
    storeBell = Bell(loop: context.loop)
    stageBell = Bell(loop: context.loop)
    emptyBell = Bell(loop: context.loop)
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { context.loop.asUnownedSerialExecutor() }

  /// Runs a loop in the isolation of the pipeline. The pools and connections are on the same executor: what a task of
  /// no isolation asks of one of them goes through the event loop's inbox, there and back, and of such ways there
  /// were twenty before a job's request.
  func run(_ body: @Sendable () async -> Void) async { await body() }

  /// Asks one of the three something, or tells it what concerns no other.
  func with<R: Sendable>(_ body: @Sendable (isolated Pipeline) -> R) -> R { body(self) }

  /// Jobs between their claim and the store of their outcome.
  var held: Int { calls.held + outcomes.count }

  /// Whether there is nothing left to store that a worker waits for which is to end, and nothing can come.
  var isStored: Bool { held == outcomes.abandoned && !leases.isClaiming }

  // MARK: Stages

  /// Moves to a later stage; an earlier one is ignored.
  func advance(to next: Stage) {
    guard next > stage else { return }
    stage = next
    if next >= .stopping { release(calls.remove()) }
    calls.endWaits()
    for bell in [claimBell, readBell, storeBell, stageBell] { bell.ring() }
    context.outage.wakeAll()
  }

  /// Ends the run for a reason that no waiting mends.
  func giveUp(_ error: JobQueueError) {
    if fault == nil { fault = error }
    advance(to: .stopping)
  }

  // MARK: Claiming

  /// Whether a claim would find room.
  private var mayClaim: Bool { stage == .running && calls.hasRoom(besides: outcomes.unstored) }

  private func ringForClaims() {
    if mayClaim { claimBell.ring() }
  }

  /// How long the claiming loop may rest when nothing rings.
  var claimRest: Duration {
    // Without room nothing is asked; a call that ends rings.
    let idlePoll = context.configuration.idlePoll
    return mayClaim
      ? max(.milliseconds(1), min(idlePoll, leases.restBeforePoll(at: EventLoop.now))) : idlePoll
  }

  /// The poll that is due before the next claim, if any: not before there is room for a claim.
  func nextPoll() -> Leases.Poll? {
    guard mayClaim, leases.restBeforePoll(at: EventLoop.now) <= .zero else { return nil }
    return leases.poll()
  }

  /// A poll was answered.
  func polled(_ poll: Leases.Poll, found: [Int16: ShardWork]) {
    if leases.polled(poll, found: found) { claimBell.ring() }
  }

  /// Something was queued, or jobs came back: in a shard, or, where it is nil, nobody knows where.
  func wakeUp(_ shard: Int16? = nil) {
    if let shard { leases.wakeUp(shard) } else { leases.pollSoon() }
    claimBell.ring()
  }

  /// The next claim worth making; nil when there is no room, nothing is worth asking, or the worker stops.
  func nextClaim() -> Leases.ClaimRequest? {
    guard mayClaim else { return nil }
    let now = EventLoop.now
    let unstored = outcomes.unstored
    return leases.nextClaim(
      paused: calls.paused(at: now), at: now, room: { calls.room(ofGate: $0, besides: unstored) },
      imageBytes: { calls.imageBytesOfClaim(forGate: $0) })
  }

  /// Takes in what a claim brought.
  func claimed(_ answer: Leases.ClaimAnswer, by request: Leases.ClaimRequest) {
    leases.claimed(answer.leases, by: request)
    for lease in answer.leases { for job in lease.jobs { take(job) } }
    if !answer.images.isEmpty {
      while let (job, image) = calls.nextRead(of: answer.images, in: request.shard) {
        received(image, for: [job])
      }
    }
    context.metrics.waiting.set(calls.waiting)
    if calls.hasToRead { readBell.ring() }
  }

  private func take(_ job: ClaimedJob) {
    guard stage == .running else { return release(job) }
    if job.isExpired {
      // No call was made.
      record(
        job,
        .failed(
          FailedAttempt(
            lease: job.lease, job: job.id, decision: .dead, failureClass: .expired,
            message: "The job was not started before its expiry.")))
    } else if calls.isPausedByOperator(job.kind) || !leases.keeps(job) {
      // Paused while the claim was on its way, or too many for the decoders.
      release(job)
    } else {
      calls.waitForImage(job)
    }
  }

  /// By which shares the priorities are claimed and served from now on.
  func share(_ shares: LaneShares) {
    leases.share(shares)
    calls.share(shares)
    context.configuration.imageDecoders.share(shares)
  }

  // MARK: Reading images

  /// The next jobs whose images are read in one statement, of one shard; nil when there are none.
  func nextRead() -> (shard: Int16, jobs: [ClaimedJob])? {
    let request = calls.nextRead()
    if request != nil, calls.hasToRead { readBell.ring() }
    return request
  }

  /// An image came: every job of the request that shows it may be called for.
  func received(_ image: StoredImage, for jobs: [ClaimedJob]) {
    let now = EventLoop.now
    for job in jobs {
      if stage == .running, leases.shard(of: job.lease) != nil {
        if !calls.ready(job, image, at: now) { release(job) }
      } else {
        calls.notRead(job)
        if stage != .running { release(job) }  // else the lease went, and another worker has it
      }
    }
    dispatch()
  }

  /// The statement failed: what did not come is asked for again.
  func readFailed(_ jobs: [ClaimedJob]) {
    for job in jobs { calls.notRead(job) }
    guard stage == .running, !calls.isStoreShutForLong else { return release(jobs) }
    for job in jobs where leases.shard(of: job.lease) != nil { calls.waitForImage(job) }
  }

  /// The database has no image for the jobs, or, with an error, cannot read it.
  func unreadable(_ jobs: [ClaimedJob], _ error: JobQueueError? = nil) {
    for job in jobs { record(job, calls.unreadable(job, error)) }
  }

  /// How an image may be asked of the object store now, and after which time once more; nil when it may not, and the job
  /// waits.
  func admitsFetch() -> (admission: Breaker.Admission, patience: Duration?)? { calls.admitsFetch() }

  /// Whether an image that is late is asked for once more.
  func hedgesFetch() -> Bool { calls.hedgesFetch() }

  /// The store has answered after a time, or has not.
  func fetched(_ admission: Breaker.Admission, after time: Duration, _ error: ImageStoreError? = nil) {
    release(calls.fetched(admission, after: time, error))
    if error != nil { return dispatch() }
    // Those that waited for the answer of a probe.
    if calls.hasToRead { readBell.ring() }
  }

  /// The jobs' images are in an object store, and none was given to this worker.
  func withoutStore(_ jobs: [ClaimedJob]) {
    for job in jobs { record(job, calls.withoutStore(job)) }
  }

  /// The reading tasks end: what has not been read goes back.
  func giveUpReading() {
    if stage != .running { release(calls.remove()) }
  }

  /// A job's image needs no decoder any more.
  func cleaned(_ job: ClaimedJob) {
    if leases.cleaned(job) { claimBell.ring() }
  }

  // MARK: Calling

  /// The next job to call for; nil when the worker stops.
  func nextJob() async -> ReadyJob? {
    guard stage == .running else { return nil }
    return await withCheckedContinuation { slot in
      // Another task may have run between the guard above and here.
      guard stage == .running else {
        slot.resume(returning: nil)
        return
      }
      calls.wait(slot)
      dispatch()
    }
  }

  /// Gives waiting slots what may begin now.
  func dispatch() {
    calls.dispatch()
    // A call that ended may have made room under the limit on bytes.
    if calls.hasToRead { readBell.ring() }
    // After starting, not before: asked before, the window would run half empty.
    ringForClaims()
  }

  /// The call for a job has ended.
  func finished(_ ready: ReadyJob, _ outcome: CallOutcome, after duration: Duration) {
    guard let ended = calls.ended(ready, outcome, after: duration) else { return }
    release(ended.released)
    record(ready.job, ended.outcome)
    dispatch()
  }

  /// The job's image cannot be sent, and no call was made.
  func unusableImage(_ ready: ReadyJob, _ why: UnusableImage) {
    record(ready.job, calls.unusable(ready, why))
    dispatch()
  }

  /// Takes note of the operators' pauses.
  func obey(_ pauses: [OperatorPause]) {
    let change = calls.obey(pauses)
    release(change.released)
    if change.resumes { wakeUp() }
  }

  // MARK: Storing

  /// Keeps an outcome until it is stored, and sees to it that this is soon.
  private func record(_ job: ClaimedJob, _ outcome: JobOutcome) {
    cleaned(job)
    guard let shard = leases.shard(of: job.lease) else {
      // The lease went; the database would store nothing, and another worker has the job.
      context.metrics.stale.add()
      return
    }
    // With nothing else here there is nothing to wait for.
    if outcomes.add(outcome, in: shard, isLast: stage != .running || calls.held == 0) {
      storeBell.ring()
    } else if !outcomes.hasTimer {
      outcomes.setTimer(
        context.loop.schedule(after: context.configuration.flushDelay) { [weak self] in
          self?.assumeIsolated {
            $0.outcomes.flush()
            $0.storeBell.ring()
          }
        })
    }
  }

  /// A job goes back untouched.
  private func release(_ job: ClaimedJob) { record(job, .released(job.held)) }

  private func release(_ jobs: [ClaimedJob]) {
    for job in jobs { release(job) }
  }

  /// Takes what is to be stored now, of one shard; nil when there is nothing, or when more is to come first.
  func nextStore() -> Outcomes.StoreRequest? { outcomes.nextStore(all: stage != .running) }

  /// The database has answered for outcomes.
  func stored(_ take: @Sendable (inout Outcomes) -> Outcomes.Answered) {
    let answered = take(&outcomes)
    for (job, outcome) in answered.busy {
      outcomes.postpone(job, outcome, in: leases.shard(of: job.lease))
      if leases.endQuarantine(of: job.lease) { claimBell.ring() }
    }
    if leases.ended(answered.ended) { claimBell.ring() }
    if held == 0 { emptyBell.ring() }
    ringForClaims()
  }

  // MARK: Leases

  /// A heartbeat was answered: what is not ours any more was taken for lost, and runs elsewhere.
  func heartbeatEnded(asked: [Int64], stillHeld: Set<Int64>) {
    let lost = leases.heartbeatEnded(asked: asked, stillHeld: stillHeld, storing: outcomes.storing)
    guard !lost.isEmpty else { return }
    _ = calls.remove { lost.contains($0.lease) }
    if stage == .running { claimBell.ring() }
  }
}
