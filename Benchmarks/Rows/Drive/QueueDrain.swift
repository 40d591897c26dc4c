import BenchmarkKit
import EventLoop
import Glibc
import PostgreSQL
import Queue
import Support

/// A worker's traffic with the queue without its calls, on the two connections that it has for it. While the results of
/// one claim are stored on the first, the second makes the next claim, and sends heartbeat and scan marks once a second.
actor QueueDrain {
  private let control: Connection
  private let store: Connection
  private let batch: Int
  private let analyses: SampleAnalyses
  private let statements: WorkerStatements
  private var claims: ShardClaims
  private var ids: LeaseIDs
  /// Claimed, and not ended yet.
  private var held: [ClaimedJob] = []
  private var nextTick: ContinuousClock.Instant

  private static let lease = Duration.seconds(15)

  /// The connections, for whoever closes them.
  nonisolated var connections: [Connection] { [control, store] }
  /// The connections' loop.
  nonisolated var unownedExecutor: UnownedSerialExecutor { control.loop.asUnownedSerialExecutor() }

  private init(control: Connection, store: Connection, batch: Int, analyses: SampleAnalyses) {
    self.control = control
    self.store = store
    self.batch = batch
    self.analyses = analyses
    var random = SystemRandomNumberGenerator()
    statements = WorkerStatements(
      shard: 0,
      worker: WorkerIdentity(
        host: "benchmark", pid: getpid(), version: ProductVersion.current, using: &random))
    ids = LeaseIDs(using: &random)
    claims = ShardClaims(kinds: AnalysisKind.allCases, now: EventLoop.now)
    nextTick = EventLoop.now
  }

  /// Claims and completes until nothing waits, or so many are done. Answers how many were.
  ///
  /// - Throws: When the database refuses something, or a result was not stored.
  func run(atMost limit: Int? = nil) async throws -> Int {
    var done = 0
    while true {
      let left = limit.map { $0 - done - held.count } ?? batch
      done += held.count
      let isEmpty = try await cycle(count: min(batch, max(left, 0)))
      if held.isEmpty, isEmpty || left <= 0 { return done }
    }
  }

  /// How far each lane was claimed.
  var marks: [Lane: Int64] { Dictionary(uniqueKeysWithValues: claims.marks.map { ($0.lane, $0.furthest) }) }

  /// The results of what is held, and beside them the next claim and once a second the scan marks and the heartbeat.
  ///
  /// - Returns: Whether nothing was claimed and nothing is worth asking for at present.
  private func cycle(count: Int) async throws -> Bool {
    let now = EventLoop.now
    let lanes = claims.next(count: count, quarantineInFlight: false, now: now)
    async let stored: Void = complete(held)
    let claim =
      lanes.isEmpty
      ? nil
      : statements.claim(
        firstLease: ids.take(lanes.count), lanes: lanes, count: count, leaseDuration: Self.lease)
    let tells = now >= nextTick
    let tick = tells ? statements.tick(claims.marks) : nil
    let heartbeat = tells ? statements.heartbeat([], leaseDuration: Self.lease, inFlight: held.count) : nil
    if tells { nextTick = now + .seconds(1) }

    let sent = [claim?.sql, tick?.sql, heartbeat?.sql].compactMap { $0 }
    var answers = sent.isEmpty ? [] : try await control.pipeline(sent, deadline: .seconds(120))[...]
    var claimed: [ClaimedJob] = []
    if let claim, let answer = answers.popFirst() {
      let batches = try claim.decode(answer)
      claims.claimed(batches, for: lanes, count: count, now: now)
      claimed = batches.flatMap(\.jobs)
    }
    if let tick, let answer = answers.popFirst() { claims.published(try tick.decode(answer)) }
    if let heartbeat, let answer = answers.popFirst() { _ = try heartbeat.decode(answer) }
    try await stored
    held = claimed
    return held.isEmpty && claims.isIdle(quarantineInFlight: false)
  }

  private func complete(_ jobs: [ClaimedJob]) async throws {
    guard !jobs.isEmpty else { return }
    let completion = statements.complete(jobs.map(analyses.completed))
    let stored = try completion.decode(
      try await store.query(completion.sql, deadline: .seconds(120))
    ).ended
    guard stored.count == jobs.count else {
      throw BenchmarkError("Of \(jobs.count) results \(stored.count) were stored.")
    }
  }
}

extension QueueDrain {
  /// A drain with connections of its own.
  static func connected(
    to conninfo: String, on loop: EventLoop, batch: Int, analyses: SampleAnalyses
  ) async throws -> QueueDrain {
    let configuration = ConnectionConfiguration(conninfo, applicationName: "benchmark-drain")
    return QueueDrain(
      control: try await Connection.connect(configuration, on: loop),
      store: try await Connection.connect(configuration, on: loop), batch: batch, analyses: analyses)
  }

  /// The same work while the server is metered from this process, in which nothing else runs meanwhile.
  func sample(jobs: Int, on cluster: BenchmarkCluster) async throws -> Sample {
    let before = OwnUsage().seconds
    let (done, meter) = try await cluster.metered { try await self.run(atMost: jobs) }
    guard done == jobs else { throw BenchmarkError("Of \(jobs) jobs \(done) were there to be claimed.") }
    return Sample(
      amount: Double(done), seconds: meter.seconds, workerSeconds: OwnUsage().seconds - before,
      serverSeconds: meter.serverSeconds, further: ["wal_bytes_per_job": meter.logBytes / Double(done)])
  }
}
