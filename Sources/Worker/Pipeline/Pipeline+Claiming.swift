internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// Which jobs are taken from the queue, and when.
extension Pipeline {
  /// What one claim asks for.
  struct ClaimRequest {
    let shard: Int16
    /// For whose endpoint.
    let gate: Int
    let count: Int
    let lanes: [LaneClaim]
    let firstLease: Int64
    let statement: Statement<[ClaimedLease]>
    /// What is sent behind the claim for the images of its first jobs; nil where they are read by themselves.
    let images: Statement<[ImageKey: StoredImage]>?
  }

  /// What a claim brought.
  struct ClaimAnswer {
    var leases: [ClaimedLease] = []
    /// Images of its jobs that came with it.
    var images: [ImageKey: StoredImage] = [:]
  }

  /// How many images come with a claim at most, and how many bytes: a few photos, which keep the connection of the
  /// claims for a moment. More are read faster by two connections, beside the calls of those that are here.
  private static let imagesOfClaim = (count: 4, bytes: 1 << 20)

  /// A claim whose answer was lost, to be looked up.
  struct LostClaim {
    let shard: Int16
    let firstLease: Int64
    let statement: Statement<Int>
    /// When it is looked up next: the server may not have had the claim yet when it was asked.
    var at: ContinuousClock.Instant
    /// From then on its leases, if it took any, have run out.
    let until: ContinuousClock.Instant
  }

  /// The next claim worth making; nil when there is no room, nothing is worth asking, or the worker stops.
  ///
  /// The shards that may have jobs take turns, or a long queue in one would take all the room there ever is. A claim
  /// is for one endpoint, each in its turn, so that none is given what another has to itself. It is made for at least
  /// three quarters of a prefetch: many small claims would cost the database more than they bring, and the last quarter
  /// is called for while the claim is on its way.
  func nextClaim() -> ClaimRequest? {
    guard mayClaim else { return nil }
    let now = EventLoop.now
    let paused = paused(at: now)
    for _ in busyShards.indices {
      let shard = busyShards.removeFirst()
      let request = nextClaim(shard: shard, paused: paused, now: now)
      if request != nil || mayHaveJobs(shard) { busyShards.append(shard) }
      if let request { return request }
    }
    return nil
  }

  private func nextClaim(
    shard: Int16, paused: Set<AnalysisKind>, now: ContinuousClock.Instant
  ) -> ClaimRequest? {
    guard let first = shards[shard]?.nextGate else { return nil }
    for gate in Array(gates.indices[first...]) + Array(gates.indices[..<first]) {
      let room = min(roomForClaim(ofGate: gate), configuration.claimSize)
      let lanes = limited(
        shards[shard]?.claims[gate].next(
          count: room, paused: paused, quarantineInFlight: holdsQuarantined, now: now) ?? [], shard: shard)
      let count = min(room, lanes.map(\.limit).max() ?? 0)
      guard !lanes.isEmpty, let queue = shards[shard]?.queue else { continue }
      shards[shard]?.nextGate = (gate + 1) % gates.count
      isClaiming = true
      let firstLease = leaseIDs.take(lanes.count)
      let statement = queue.statements.claim(
        firstLease: firstLease, lanes: lanes, count: count, leaseDuration: configuration.leaseDuration)
      return ClaimRequest(
        shard: shard, gate: gate, count: count, lanes: lanes, firstLease: firstLease, statement: statement,
        images: imagesOfClaim(firstLease, lanes.count, queue.statements, gate))
    }
    return nil
  }

  /// Asks for images where a claimed job would be called for at once: the round trip is then all that its call waits
  /// for. In a busy worker claims run ahead of the calls, and it is better that images stream.
  private func imagesOfClaim(
    _ firstLease: Int64, _ leases: Int, _ statements: WorkerStatements, _ gate: Int
  ) -> Statement<[ImageKey: StoredImage]>? {
    let bytes = EndpointShares(total: configuration.imageBytes, endpoints: gates.count)
      .allowance(of: gate) { gates[$0].imageBytes }
    guard hasImagesOfClaim, waiting == 0, idleSlots.count > inFlight, bytes > 0 else { return nil }
    return ImageReader.ofClaim(
      by: statements.worker, shard: statements.shard, firstLease: firstLease, leases: leases,
      images: Self.imagesOfClaim.count, bytes: min(bytes, Self.imagesOfClaim.bytes))
  }

  /// Jobs whose type is paused count too, and quarantined ones that wait for the one in flight.
  private func mayHaveJobs(_ shard: Int16) -> Bool {
    shards[shard]?.claims.contains { !$0.isIdle(quarantineInFlight: false) } ?? false
  }

  /// The schema is of the version before.
  func imagesOfClaimAreMissing() { hasImagesOfClaim = false }

  /// Takes in what a claim brought.
  func claimed(_ answer: ClaimAnswer, by request: ClaimRequest) {
    let claimed = answer.leases
    isClaiming = false
    shards[request.shard]?.claims[request.gate].claimed(
      claimed, for: request.lanes, count: request.count, now: EventLoop.now)
    noteFound(claimed, by: request)
    for lease in claimed where !lease.jobs.isEmpty {
      leases[lease.id] = Lease(
        shard: request.shard, isQuarantined: lease.lane.isQuarantine, remaining: lease.jobs.count)
      meters.claimed.add(lease.jobs.count)
      for job in lease.jobs { take(job) }
    }
    if !answer.images.isEmpty { takeImages(answer.images, of: request.shard) }
    meters.waiting.set(waiting)
    if !toRead.isEmpty { readBell.ring() }
  }

  /// Takes note that a claim failed. If it may have been carried out it is looked up: what it took would
  /// else wait for its lease to run out, and count as lost with a worker.
  func claimFailed(_ request: ClaimRequest, _ error: JobQueueError) {
    isClaiming = false
    shards[request.shard]?.claims[request.gate].claimFailed()
    mayHaveWork(request.shard)
    guard (error.underlying as? PostgreSQLError)?.mayHaveTakenEffect != false,
      let queue = shards[request.shard]?.queue
    else { return }
    let now = EventLoop.now
    lostClaims.append(
      LostClaim(
        shard: request.shard, firstLease: request.firstLease,
        statement: queue.statements.disclaim(firstLease: request.firstLease, count: request.lanes.count),
        at: now, until: now + configuration.leaseDuration))
  }

  /// The lost claim that is to be looked up now, if any.
  func nextLostClaim() -> LostClaim? {
    let now = EventLoop.now
    lostClaims.removeAll { $0.until <= now }
    return lostClaims.first { $0.at <= now }
  }

  /// A lost claim was looked up and had taken so many jobs, which are back in the queue.
  func lookedUp(_ claim: LostClaim, found jobs: Int) {
    guard jobs > 0 else { return lookUpLater(claim) }
    lostClaims.removeAll { $0.firstLease == claim.firstLease }
    meters.released.add(jobs)
    log.notice(
      "A claim whose answer was lost had been carried out; its jobs are back", ["jobs": .int(Int64(jobs))])
    wakeUp(shard: claim.shard)
  }

  /// It could not be looked up: by a database that is away later, by one that does not know how never.
  func lookUpFailed(_ claim: LostClaim, _ error: JobQueueError) {
    guard !error.isTemporary else { return lookUpLater(claim) }
    lostClaims.removeAll { $0.firstLease == claim.firstLease }
  }

  private func lookUpLater(_ claim: LostClaim) {
    guard let index = lostClaims.firstIndex(where: { $0.firstLease == claim.firstLease }) else { return }
    lostClaims[index].at = EventLoop.now + .seconds(1)
  }

  /// A question to the database which shards have work.
  struct Look {
    let statement: Statement<[Int16: ShardWork]>
    /// How often each shard had been woken up when it was asked: what was queued since, the answer does not know.
    fileprivate let wakeUps: [Int16: Int]
  }

  /// The question that is due before the next claim, if any: not before there is room for a claim.
  func nextLook() -> Look? {
    guard mayClaim, EventLoop.now >= lookAt else { return nil }
    return look()
  }

  /// Asks all shards for work; the next question is due an idle poll later.
  func look(all: Bool = false) -> Look {
    lookAt = EventLoop.now + configuration.idlePoll
    return Look(
      statement: ShardWork.statement(
        shards: shards.keys.sorted(), lanes: configuration.kinds.flatMap(Lane.all(of:)), all: all),
      wakeUps: shards.mapValues(\.wakeUps))
  }

  /// Takes in the answer to a look.
  func looked(_ look: Look, found: [Int16: ShardWork]) {
    let now = EventLoop.now
    for shard in shards.keys where shards[shard]?.wakeUps == look.wakeUps[shard] {
      let waiting = found[shard]?.waiting ?? [:]
      for gate in gates.indices { shards[shard]?.claims[gate].looked(waiting, now: now) }
      if !waiting.isEmpty { mayHaveWork(shard) }
    }
    if !busyShards.isEmpty { claimBell.ring() }
  }

  /// A look failed: it is made again.
  func lookFailed() {
    lookAt = EventLoop.now
  }

  /// Whether a claim would find room.
  var mayClaim: Bool {
    stage == .running && gates.indices.contains { roomForClaim(ofGate: $0) > 0 }
  }

  /// How many jobs may be claimed for an endpoint; 0 when they are too few to be worth a statement.
  private func roomForClaim(ofGate gate: Int) -> Int {
    let shares = jobShares
    // With a single endpoint, as nearly always, all that is held is its own.
    let room = shares.allowance(of: gate) { gates.count == 1 ? waiting + inFlight : held(forGate: $0) }
    let least = min(configuration.prefetch, configuration.claimSize, shares.floor) * 3 / 4
    return room >= max(1, least) ? room : 0
  }

  private func held(forGate index: Int) -> Int {
    gates[index].inFlight + gates[index].ready.count + gates[index].reading
      + toRead.elements.count { gateOfKind[$0.kind] == index }
  }

  /// Something was queued in a shard, or jobs came back: each of its lanes is looked at again.
  func wakeUp(shard: Int16) {
    guard shards[shard] != nil else { return }
    for gate in gates.indices { shards[shard]?.claims[gate].wakeUp() }
    shards[shard]?.wakeUps += 1
    mayHaveWork(shard)
    claimBell.ring()
  }

  /// Something may have been queued, and it is not known where: the database is asked.
  func wakeUp() {
    lookAt = EventLoop.now
    claimBell.ring()
  }

  private func mayHaveWork(_ shard: Int16) {
    if !busyShards.contains(shard) { busyShards.append(shard) }
  }

  /// How long the claiming loop may rest when nothing rings.
  var claimRest: Duration {
    // Without room nothing is asked; a call that ends rings.
    guard mayClaim else { return configuration.idlePoll }
    return max(.milliseconds(1), min(configuration.idlePoll, lookAt - EventLoop.now))
  }

  /// The types that are not started at present: an operator paused them, or their endpoint is not called.
  private func paused(at now: ContinuousClock.Instant) -> Set<AnalysisKind> {
    Set(
      configuration.kinds.filter { kind in
        guard let gate = gateOfKind[kind] else { return true }
        return isPausedByOperator(kind) || !gates[gate].wantsJobs(at: now)
      })
  }

  private func take(_ job: ClaimedJob) {
    guard stage == .running else { return release(job) }
    if job.isExpired {
      record(job, .failed(.expired(job)))
    } else if isPausedByOperator(job.kind) {
      // Paused while the claim was on its way.
      release(job)
    } else if job.isUnsanitized, unsanitized.count >= mostUnsanitized.ofAll {
      release(job)
    } else {
      if job.isUnsanitized { unsanitized.insert(HeldJob(lease: job.lease, job: job.id)) }
      waitForImage(job)
    }
  }
}

extension FailedAttempt {
  /// A job that was not started before its expiry: final, and no call was made.
  static func expired(_ job: ClaimedJob) -> FailedAttempt {
    FailedAttempt(
      lease: job.lease, job: job.id, decision: .dead, failureClass: .expired, code: nil,
      message: "The job was not started before its expiry.", errorID: nil, status: nil, calls: 0,
      maybeCounted: false, endpoint: nil)
  }
}
