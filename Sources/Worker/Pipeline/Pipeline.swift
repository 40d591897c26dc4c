internal import Endpoint
internal import EventLoop
internal import Images
internal import PostgreSQL
internal import Queue
internal import Support

/// What one worker process holds: the jobs between their claim and their outcome.
///
/// An actor on the event loop of the database's connections, so that a job passes from its row to its call and from
/// the answer to the store without a change of thread. The loops that feed it (claiming, reading images,
/// calling, storing, keeping leases) are tasks of `AnalysisWorker`; what they decide by lives here.
actor Pipeline {
  /// One logical shard: what it is asked by, and what this worker knows of its lanes.
  struct Shard {
    let queue: WorkerQueue
    /// One for each endpoint, in the order of the gates: each is claimed for by itself.
    var claims: [ShardClaims]
    /// Which endpoint is claimed for next.
    var nextGate = 0
    /// How often it was heard that something was queued here.
    var wakeUps = 0
  }

  /// A lease of ours that is not wholly ended.
  struct Lease {
    let shard: Int16
    var isQuarantined: Bool
    var remaining: Int
  }

  let configuration: WorkerConfiguration
  let loop: EventLoop
  let log: Log
  let meters: Meters

  var shards: [Int16: Shard]
  /// The shards that may have jobs, in the order in which they are claimed from.
  var busyShards: [Int16] = []
  /// When the database is asked next which shards have work, unless somebody does before.
  var lookAt = EventLoop.now
  var gates: [EndpointGate]
  let gateOfKind: [AnalysisKind: Int]
  var leaseIDs: LeaseIDs
  var generator = SystemRandomNumberGenerator()

  var leases: [Int64: Lease] = [:]
  /// Claimed jobs whose image has not been asked for.
  var toRead = FairLine<ClaimedJob>()
  /// Held jobs whose image is not clean and was not cleaned here yet.
  var unsanitized: Set<HeldJob> = []
  /// What the last claim of a lane has brought.
  var lanesFound: [Int16: [Lane: LaneFound]] = [:]
  /// Tasks that wait for a job to call the endpoint for.
  var idleSlots: [CheckedContinuation<ReadyJob?, Never>] = []
  var inFlight = 0
  /// Why no image can be decoded, as it was logged; nil since the last that was.
  var reportedDecoderError: ImageDecoderError?
  /// Outcomes that the queue has not been told, by shard.
  var outcomes: [(shard: Int16, outcome: JobOutcome)] = []
  /// Whether they are to be stored now.
  var isStoreDue = false
  /// Makes them due, unless they are before.
  var flushTimer: TimerToken?
  /// JobOutcomes that are being stored.
  var storing = 0
  /// Outcomes that somebody else's open transaction keeps from being stored.
  var postponed: [HeldJob: Postponed] = [:]
  /// The shards in which this worker has given a sign of life.
  var shardsHeardIn: Set<Int16> = []
  /// Whether a claim is under way, whose jobs are not counted yet.
  var isClaiming = false
  /// Whether the database can answer images with a claim, as far as is known.
  var hasImagesOfClaim = true
  /// Claims of which it is not known whether they were carried out.
  var lostClaims: [LostClaim] = []

  var stage = Stage.running
  /// What operators have paused, as last heard.
  var pauses: [OperatorPause] = []
  /// What is sent of each type's images, as last heard.
  private var imageRules: [AnalysisKind: ImageRules] = [:]
  /// Why the run ends before its work is done.
  var fault: JobQueueError?

  /// Whether the database is away.
  nonisolated let absence: DatabaseAbsence
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

  init(
    _ configuration: WorkerConfiguration, identity: WorkerIdentity, shards: [Int16],
    clients: [AnalysisKind: ModelClient], loop: EventLoop, log: Log, meters: Meters
  ) {
    self.configuration = configuration
    self.loop = loop
    self.log = log
    self.meters = meters
    absence = DatabaseAbsence(loop: loop)
    claimBell = Bell(loop: loop)
    readBell = Bell(loop: loop)
    storeBell = Bell(loop: loop)
    stageBell = Bell(loop: loop)
    emptyBell = Bell(loop: loop)
    leaseIDs = LeaseIDs(using: &generator)
    // Types that name the same endpoint share one window and one breaker.
    var gates: [EndpointGate] = []
    var gateOfKind: [AnalysisKind: Int] = [:]
    for kind in configuration.kinds {
      guard let client = clients[kind] else { continue }
      if let index = gates.firstIndex(where: { $0.name == client.endpoint.name }) {
        gateOfKind[kind] = index
      } else {
        gateOfKind[kind] = gates.count
        gates.append(
          EndpointGate(
            client: client, greatestWindow: configuration.concurrency,
            callDuration: meters.callDuration(of: client.endpoint.name)))
      }
    }
    self.gates = gates
    self.gateOfKind = gateOfKind
    let now = EventLoop.now
    let claims = gates.indices.map { gate in
      ShardClaims(kinds: configuration.kinds.filter { gateOfKind[$0] == gate }, now: now)
    }
    self.shards = Dictionary(
      uniqueKeysWithValues: shards.map { shard in
        let statements = WorkerStatements(shard: shard, worker: identity)
        return (shard, Shard(queue: WorkerQueue(statements), claims: claims))
      })
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// Runs a loop in the isolation of the pipeline. The pools and connections are on the same executor: what a task of
  /// no isolation asks of one of them goes through the event loop's inbox, there and back, and of such ways there
  /// were twenty before a job's request.
  func run(_ body: @Sendable () async -> Void) async { await body() }

  // MARK: How much there is

  /// Jobs whose image is on its way.
  var reading: Int { sum { $0.reading } }

  /// Bytes of images that are here or on their way.
  var imageBytes: Int { sum { $0.imageBytes } }

  /// Jobs between claim and outcome that have not been called for.
  var waiting: Int { toRead.count + sum { $0.reading + $0.ready.count } }

  private func sum(_ count: (borrowing EndpointGate) -> Int) -> Int {
    var sum = 0
    for index in gates.indices { sum += count(gates[index]) }
    return sum
  }

  /// Jobs between their claim and the store of their outcome.
  var held: Int { waiting + inFlight + outcomes.count + storing + resting }

  /// Whether there is nothing left to store that a worker waits for which is to end, and nothing can come.
  var isStored: Bool { held == abandoned && !isClaiming }

  /// How the endpoints share the jobs that may be held.
  var jobShares: EndpointShares {
    // A store that does not keep up (a database away) must stop the claims, or memory would grow.
    let total =
      configuration.concurrency + configuration.prefetch - (outcomes.count + postponed.count) / 4
    return EndpointShares(total: max(0, total), endpoints: gates.count)
  }

  var holdsQuarantined: Bool { leases.values.contains { $0.isQuarantined } }

  // MARK: Rules of images

  /// By which rules images are cleaned from now on.
  func follow(_ rules: [AnalysisKind: ImageRules]) { imageRules = rules }

  /// By which rules images of a type are cleaned.
  func imageRules(of kind: AnalysisKind) -> ImageRules { imageRules[kind] ?? .usual }

  // MARK: Stages

  /// Moves to a later stage; an earlier one is ignored.
  func advance(to next: Stage) {
    guard next > stage else { return }
    stage = next
    if next >= .stopping { releaseWaiting() }
    for slot in idleSlots { slot.resume(returning: nil) }
    idleSlots = []
    for bell in [claimBell, readBell, storeBell, stageBell] { bell.ring() }
    absence.wakeAll()
  }

  /// Ends the run for a reason that no waiting mends.
  func giveUp(_ error: JobQueueError) {
    if fault == nil { fault = error }
    advance(to: .stopping)
  }

  /// Gives every job back that has not been called for.
  func releaseWaiting() {
    for job in toRead.remove(where: { _ in true }) { release(job) }
    for index in gates.indices { releaseReady(ofGate: index) }
  }

  /// The bytes of a job's image are needed no more.
  func letGoImage(of job: ClaimedJob) {
    guard let gate = gateOfKind[job.kind] else { return }
    gates[gate].imageBytes -= job.imageBytes
  }

  func releaseReady(ofGate index: Int, where isOver: (ReadyJob) -> Bool = { _ in true }) {
    for ready in gates[index].ready.remove(where: isOver) {
      letGoImage(of: ready.job)
      release(ready.job)
    }
  }

  /// A job goes back untouched.
  func release(_ job: ClaimedJob) {
    record(job, .released(HeldJob(lease: job.lease, job: job.id)))
  }
}

/// What became of a claimed job, to be told to the queue.
enum JobOutcome: Sendable {
  case completed(CompletedJob)
  case failed(FailedAttempt)
  case released(HeldJob)
}
