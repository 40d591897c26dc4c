internal import EventLoop
internal import Images
internal import PostgreSQL
internal import Queue
internal import Support

/// What the worker has of the queue: the lanes of its shards, the leases that it holds, and the claims whose answer was
/// lost.
///
/// The rule: a job is called for, and its outcome is stored, only while its lease is here. A lease comes with the answer
/// to a claim, and goes with the last of its jobs or when a heartbeat finds it lost. Claims are made one at a time; one
/// whose answer was lost is asked about until its leases have run out.
struct Leases {
  /// One logical shard, as this worker knows it.
  private struct Shard {
    /// What is known of its lanes; one for each endpoint, in the order of the gates: each is claimed for by itself.
    var claims: [ShardClaims]
    /// Which endpoint is claimed for next.
    var nextGate = 0
    /// How often it was heard that something was queued here.
    var wakeUps = 0
    /// What the last claim of a lane has brought.
    var found: [Lane: LaneFound] = [:]

    mutating func change(_ change: (inout ShardClaims) -> Void) {
      for gate in claims.indices { change(&claims[gate]) }
    }
  }

  /// What the last claim of a lane has brought.
  private enum LaneFound {
    /// All that it asked for, and all of it clean.
    case clean
    case unsanitized
  }

  /// A lease of ours that is not wholly ended.
  private struct Lease {
    let shard: Int16
    var isQuarantined: Bool
    var remaining: Int
  }

  private let context: WorkerContext
  private var shards: [Int16: Shard]
  /// The shards that may have jobs, in the order in which they are claimed from.
  private var busyShards: [Int16] = []
  /// When the database is asked next which shards have work, unless somebody does before.
  private var pollAt = EventLoop.now
  private var ids: LeaseIDs
  private var leases: [Int64: Lease] = [:]
  /// Held jobs whose image is not clean and was not cleaned here yet.
  private var unsanitized: Set<HeldJob> = []
  /// Claims of which it is not known whether they were carried out.
  private var lostClaims: [LostClaim] = []
  /// Whether the database can answer images with a claim, as far as is known.
  private var hasImagesOfClaim = true
  /// Whether a claim is under way, whose jobs are not counted yet.
  private(set) var isClaiming = false
  /// The shards in which this worker has given a sign of life.
  private(set) var shardsHeardIn: Set<Int16> = []

  /// - Parameter gates: The types of each endpoint.
  init(_ context: WorkerContext, gates: [[AnalysisKind]]) {
    self.context = context
    var generator = SystemRandomNumberGenerator()
    ids = LeaseIDs(using: &generator)
    let now = EventLoop.now
    let claims = gates.map { ShardClaims(kinds: $0, now: now) }
    shards = Dictionary(uniqueKeysWithValues: context.shards.map { ($0, Shard(claims: claims)) })
  }

  // MARK: Asking which shards have work

  /// A question to the database which shards have work.
  struct Poll {
    let statement: Statement<[Int16: ShardWork]>
    /// How often each shard had been woken up when it was asked: what was queued since, the answer does not know.
    fileprivate let wakeUps: [Int16: Int]
  }

  /// For how long no poll is due.
  func restBeforePoll(at now: ContinuousClock.Instant) -> Duration { pollAt - now }

  /// Asks all shards for work; the next question is due an idle poll later.
  mutating func poll(all: Bool = false) -> Poll {
    pollAt = EventLoop.now + context.configuration.idlePoll
    return Poll(
      statement: ShardWork.statement(
        shards: shards.keys.sorted(), lanes: context.configuration.kinds.flatMap(Lane.all(of:)), all: all),
      wakeUps: shards.mapValues(\.wakeUps))
  }

  /// Takes in the answer to a poll; says whether there is something to claim.
  mutating func polled(_ poll: Poll, found: [Int16: ShardWork]) -> Bool {
    let now = EventLoop.now
    for shard in shards.keys where shards[shard]?.wakeUps == poll.wakeUps[shard] {
      let waiting = found[shard]?.waiting ?? [:]
      shards[shard]?.change { $0.looked(waiting, now: now) }
      if !waiting.isEmpty { mayHaveWork(shard) }
    }
    return !busyShards.isEmpty
  }

  /// The database is to be asked at once: a poll failed, or something may have been queued, and it is not known where.
  mutating func pollSoon() { pollAt = EventLoop.now }

  /// Something was queued in a shard, or jobs came back: each of its lanes is looked at again.
  mutating func wakeUp(_ shard: Int16) {
    guard shards[shard] != nil else { return }
    shards[shard]?.change { $0.wakeUp() }
    shards[shard]?.wakeUps += 1
    mayHaveWork(shard)
  }

  private mutating func mayHaveWork(_ shard: Int16) {
    if !busyShards.contains(shard) { busyShards.append(shard) }
  }

  // MARK: Claiming

  /// What one claim asks for.
  struct ClaimRequest {
    let shard: Int16
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

  /// How many jobs a claim looks through for those that need no decoder.
  private static let passedOver = 64

  /// The next claim worth making; nil when there is no room or nothing is worth asking.
  ///
  /// The shards that may have jobs take turns, or a long queue in one would take all the room there ever is. A claim
  /// is for one endpoint, each in its turn, so that none is given what another has to itself.
  ///
  /// - Parameters:
  ///   - room: How many jobs may be claimed for an endpoint.
  ///   - imageBytes: How many bytes of images are worth having with the claim for an endpoint.
  mutating func nextClaim(
    paused: Set<AnalysisKind>, at now: ContinuousClock.Instant, room: (Int) -> Int, imageBytes: (Int) -> Int
  ) -> ClaimRequest? {
    for _ in busyShards.indices {
      let shard = busyShards.removeFirst()
      let request = nextClaim(shard, paused, now, room, imageBytes)
      if request != nil || mayHaveJobs(shard) { busyShards.append(shard) }
      if let request { return request }
    }
    return nil
  }

  private mutating func nextClaim(
    _ shard: Int16, _ paused: Set<AnalysisKind>, _ now: ContinuousClock.Instant, _ room: (Int) -> Int,
    _ imageBytes: (Int) -> Int
  ) -> ClaimRequest? {
    guard let first = shards[shard]?.nextGate, let gates = shards[shard]?.claims.count else { return nil }
    let quarantineInFlight = leases.values.contains { $0.isQuarantined }
    for turn in 0..<gates {
      let gate = (first + turn) % gates
      let room = min(room(gate), context.configuration.claimSize)
      let asked =
        shards[shard]?.claims[gate].next(
          count: room, paused: paused, quarantineInFlight: quarantineInFlight, now: now) ?? []
      let lanes = limited(asked, shard)
      guard !lanes.isEmpty else { continue }
      shards[shard]?.nextGate = (gate + 1) % gates
      isClaiming = true
      let count = min(room, lanes.map(\.limit).max() ?? 0)
      let firstLease = ids.take(lanes.count)
      let bytes = hasImagesOfClaim ? min(imageBytes(gate), Self.imagesOfClaim.bytes) : 0
      let images =
        bytes == 0
        ? nil
        : ImageReader.ofClaim(
          by: context.identity, shard: shard, firstLease: firstLease, leases: lanes.count,
          images: Self.imagesOfClaim.count, bytes: bytes)
      return ClaimRequest(
        shard: shard, gate: gate, count: count, lanes: lanes, firstLease: firstLease,
        statement: context.statements(of: shard).claim(
          firstLease: firstLease, lanes: lanes, count: count,
          leaseDuration: context.configuration.leaseDuration),
        images: images)
    }
    return nil
  }

  /// Jobs whose type is paused count too, and quarantined ones that wait for the one in flight.
  private func mayHaveJobs(_ shard: Int16) -> Bool {
    shards[shard]?.claims.contains { !$0.isIdle(quarantineInFlight: false) } ?? false
  }

  /// The schema is of the version before.
  mutating func imagesOfClaimAreMissing() { hasImagesOfClaim = false }

  /// Takes in what a claim brought.
  mutating func claimed(_ claimed: [ClaimedLease], by request: ClaimRequest) {
    isClaiming = false
    shards[request.shard]?.claims[request.gate].claimed(
      claimed, for: request.lanes, count: request.count, now: EventLoop.now)
    noteFound(claimed, by: request)
    for lease in claimed where !lease.jobs.isEmpty {
      leases[lease.id] = Lease(
        shard: request.shard, isQuarantined: lease.lane.isQuarantine, remaining: lease.jobs.count)
      context.metrics.claimed.add(lease.jobs.count)
    }
  }

  /// By which shares the priorities begin from now on.
  mutating func share(_ shares: LaneShares) {
    for shard in shards.keys { shards[shard]?.change { $0.shares = shares } }
  }

  // MARK: Claims whose answer was lost

  /// A claim whose answer was lost, to be taken back.
  struct LostClaim {
    let shard: Int16
    let firstLease: Int64
    let statement: Statement<Int>
    /// When it is asked about next: the server may not have had the claim yet when it was asked.
    fileprivate var at: ContinuousClock.Instant
    /// From then on its leases, if it took any, have run out.
    fileprivate let until: ContinuousClock.Instant
  }

  /// Takes note that a claim failed. If it may have been carried out it is asked about: what it took would
  /// else wait for its lease to run out, and count as lost with a worker.
  mutating func claimFailed(_ request: ClaimRequest, _ error: JobQueueError) {
    isClaiming = false
    shards[request.shard]?.claims[request.gate].claimFailed()
    mayHaveWork(request.shard)
    guard (error.underlying as? PostgreSQLError)?.mayHaveTakenEffect != false else { return }
    let now = EventLoop.now
    lostClaims.append(
      LostClaim(
        shard: request.shard, firstLease: request.firstLease,
        statement: context.statements(of: request.shard)
          .disclaim(firstLease: request.firstLease, count: request.lanes.count),
        at: now, until: now + context.configuration.leaseDuration))
  }

  /// The lost claim that is to be asked about now, if any.
  mutating func nextLostClaim() -> LostClaim? {
    let now = EventLoop.now
    lostClaims.removeAll { $0.until <= now }
    return lostClaims.first { $0.at <= now }
  }

  /// A lost claim had taken so many jobs, which are back in the queue; or none, as far as the server knows by now.
  mutating func disclaimed(_ claim: LostClaim, found jobs: Int) {
    guard jobs > 0 else { return disclaimLater(claim) }
    lostClaims.removeAll { $0.firstLease == claim.firstLease }
    context.metrics.released.add(jobs)
    context.log.notice(
      "A claim whose answer was lost had been carried out; its jobs are back", ["jobs": .int(Int64(jobs))])
    wakeUp(claim.shard)
  }

  /// It could not be asked about: a database that is away is asked later, one that does not know how never.
  mutating func disclaimFailed(_ claim: LostClaim, _ error: JobQueueError) {
    guard !error.isTemporary else { return disclaimLater(claim) }
    lostClaims.removeAll { $0.firstLease == claim.firstLease }
  }

  private mutating func disclaimLater(_ claim: LostClaim) {
    guard let index = lostClaims.firstIndex(where: { $0.firstLease == claim.firstLease }) else { return }
    lostClaims[index].at = EventLoop.now + .seconds(1)
  }

  // MARK: Jobs whose images have to be cleaned here

  /// How many of these are held at most, since those that wait for a decoder could run elsewhere: of anybody, so that
  /// every decoder has its next ones, and beyond these of users who have none here. Some calls are always left for jobs
  /// whose images are clean.
  private var mostUnsanitized: (ofAnybody: Int, ofAll: Int) {
    let calls = context.configuration.concurrency
    let ofAnybody = max(1, min(4 * context.configuration.imageDecoders.slots, calls / 2))
    return (ofAnybody, max(ofAnybody, min(2 * ofAnybody, calls - 1)))
  }

  /// Asks of each lane for no more than can be decoded. A lane that has given nothing but clean jobs is trusted.
  private func limited(_ lanes: [LaneClaim], _ shard: Int16) -> [LaneClaim] {
    let (most, mostOfAll) = mostUnsanitized
    let room = most - unsanitized.count
    return lanes.map { lane in
      guard shards[shard]?.found[lane.lane] != .clean else { return lane }
      var lane = lane
      if room > 0 {
        lane.limit = min(lane.limit, room)
      } else {
        lane.limit = min(lane.limit, Self.passedOver)
        lane.unsanitized = unsanitized.count < mostOfAll ? .oneOfAnother : .none
      }
      return lane
    }
  }

  /// Takes note of what the lanes have brought that were asked.
  private mutating func noteFound(_ leases: [ClaimedLease], by request: ClaimRequest) {
    var left = request.count
    for lane in request.lanes where left > 0 {
      let jobs = leases.filter { $0.lane == lane.lane }.flatMap(\.jobs)
      left -= jobs.count
      if jobs.contains(where: \.isUnsanitized) {
        shards[request.shard]?.found[lane.lane] = .unsanitized
      } else if lane.unsanitized == .any {
        shards[request.shard]?.found[lane.lane] = jobs.count == lane.limit ? .clean : nil
      }
    }
  }

  /// Whether a claimed job is kept, as all are that need no decoder.
  mutating func keeps(_ job: ClaimedJob) -> Bool {
    guard job.isUnsanitized else { return true }
    guard unsanitized.count < mostUnsanitized.ofAll else { return false }
    unsanitized.insert(job.held)
    return true
  }

  /// A job's image needs no decoder any more; says whether there is now something to claim.
  mutating func cleaned(_ job: ClaimedJob) -> Bool {
    guard job.isUnsanitized, unsanitized.remove(job.held) != nil else { return false }
    // Not for each: a claim has its price.
    guard unsanitized.count == mostUnsanitized.ofAnybody / 2 else { return false }
    var isWoken = false
    for shard in shards.keys where shards[shard]?.found.values.contains(.unsanitized) == true {
      wakeUp(shard)
      isWoken = true
    }
    return isWoken
  }

  // MARK: The leases

  /// In which shard a lease of ours is; nil when it is not ours any more.
  func shard(of lease: Int64) -> Int16? { leases[lease]?.shard }

  /// The shards in which this worker holds jobs.
  var shardsWithLeases: Set<Int16> { Set(leases.values.map(\.shard)) }

  /// A heartbeat is about to be sent in a shard: the leases for which it is.
  mutating func beginHeartbeat(in shard: Int16) -> [Int64] {
    shardsHeardIn.insert(shard)
    return leases.filter { $0.value.shard == shard }.map(\.key)
  }

  /// Takes note of what the database says is still ours; answers the leases that are not, whose jobs run elsewhere.
  ///
  /// - Parameter storing: How many outcomes are on their way: a lease whose last jobs are among them may have gone by
  ///   that very statement.
  mutating func heartbeatEnded(asked: [Int64], stillHeld: Set<Int64>, storing: Int) -> Set<Int64> {
    let lost = Set(
      asked.filter { id in
        guard !stillHeld.contains(id), let lease = leases[id] else { return false }
        return storing == 0 || lease.remaining > storing
      })
    guard !lost.isEmpty else { return [] }
    for id in lost { leases[id] = nil }
    unsanitized = unsanitized.filter { !lost.contains($0.lease) }
    context.metrics.leasesLost.add(lost.count)
    context.log.warning("Leases were lost; their jobs run elsewhere", ["leases": .int(Int64(lost.count))])
    return lost
  }

  /// The named leases have one job less each time that they are named; an empty one needs no lease. Says whether
  /// another quarantined job may be claimed now.
  mutating func ended(_ jobs: [HeldJob]) -> Bool {
    var wasQuarantined = false
    for id in jobs.lazy.map(\.lease) {
      guard let left = leases[id]?.remaining else { continue }
      if left > 1 {
        leases[id]?.remaining = left - 1
      } else if leases.removeValue(forKey: id)?.isQuarantined == true {
        wasQuarantined = true
      }
    }
    return wasQuarantined
  }

  /// The call of a lease's job is over, and only its outcome is still to be stored: it endangers no other job any more.
  /// Says whether another quarantined job may be claimed now.
  mutating func endQuarantine(of lease: Int64) -> Bool {
    guard leases[lease]?.isQuarantined == true else { return false }
    leases[lease]?.isQuarantined = false
    return true
  }

  // MARK: Scan marks

  func marks(of shard: Int16) -> [(lane: Lane, furthest: Int64)] {
    shards[shard]?.claims.flatMap(\.marks) ?? []
  }

  /// The shards in which this worker has claimed further than is published.
  var shardsWithMarks: Set<Int16> {
    Set(shards.filter { $0.value.claims.contains { $0.hasUnpublishedMarks } }.keys)
  }

  mutating func published(_ marks: [Lane: PublishedMark], in shard: Int16) {
    shards[shard]?.change { $0.published(marks) }
  }
}
