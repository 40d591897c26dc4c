internal import EventLoop
internal import PostgreSQL
internal import Queue
internal import Support

/// A job that somebody waits for, who has shown that it is theirs.
struct WaitTicket: Sendable, Hashable {
  let token: AppToken
  let job: JobID
}

/// All who wait for the end of a job. While there are any, the queue is asked for all of them together: one statement for
/// each shard, and two more where some have an analysis to be read. While there are none it is not asked.
actor AnalysisWaits {
  private struct Waiter {
    let ticket: WaitTicket
    let continuation: CheckedContinuation<JobEnd?, Never>
    let timer: TimerToken
  }

  /// As many as one statement opens.
  private static let atOnce = 1000
  /// Between looks, however many hints come.
  private static let leastPause: Duration = .milliseconds(5)
  /// After a look that found something: it is an entry of the audit, of which the login may make 6000 a minute.
  private static let pauseAfterFinding: Duration = .milliseconds(20)
  /// While ends are heard.
  private static let heardPause: Duration = .milliseconds(100)

  private let database: ConnectionPool
  private let loop: EventLoop
  private let log: Log
  private let meters: GatewayMeters
  private let lookEvery: Duration
  private let bell: Bell
  private var waiters: [UInt64: Waiter] = [:]
  private var waitedFor: [JobID: Int] = [:]
  private var lastNumber: UInt64 = 0
  private var isLooking = false
  private var nextLook = EventLoop.now
  private var isClosed = false
  /// Whether ends of jobs are heard, so that it need not be asked as often.
  private var hears = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(_ database: ConnectionPool, _ log: Log, _ meters: GatewayMeters, lookEvery: Duration) {
    self.database = database
    self.loop = database.loop
    self.log = log
    self.meters = meters
    self.lookEvery = lookEvery
    bell = Bell(loop: database.loop)
  }

  /// Waits until a job has ended; nil where it has not within the time, the task was cancelled, or nobody is to wait any
  /// longer.
  func end(of ticket: WaitTicket, within time: Duration) async -> JobEnd? {
    lastNumber += 1
    let number = lastNumber
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<JobEnd?, Never>) in
        guard !Task.isCancelled, !isClosed, time > .zero else { return continuation.resume(returning: nil) }
        let timer = loop.schedule(after: time) { [weak self] in
          self?.assumeIsolated { $0.settle(number, nil) }
        }
        waiters[number] = Waiter(ticket: ticket, continuation: continuation, timer: timer)
        waitedFor[ticket.job, default: 0] += 1
        meters.waiting.set(waiters.count)
        begin()
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.settle(number, nil) } }
    }
  }

  /// Hears which jobs have ended, where workers say so (`--notify-ended`): a hint to look at once. Where nothing is heard,
  /// looking every few milliseconds finds every end. Until the task is cancelled.
  nonisolated func listen(_ configuration: ConnectionConfiguration, hinting events: UserEvents) async {
    await QueueListener(configuration, [.ended], on: loop, log: log).run(
      changed: { if !$0 { await self.setHears(false) } },
      heard: { payload in
        // Not before the first: without --notify-ended there is none.
        await self.setHears(true)
        await self.hint(Self.jobs(payload))
        await events.hint()
      })
  }

  /// The jobs of a hint, `SHARD:JOB,JOB,…`; none of anything else.
  static func jobs(_ payload: String) -> [JobID] {
    guard let colon = payload.firstIndex(of: ":") else { return [] }
    return payload[payload.index(after: colon)...].split(separator: ",").compactMap { JobID(String($0)) }
  }

  private func hint(_ jobs: [JobID]) {
    if jobs.contains(where: { waitedFor[$0] != nil }) { bell.ring() }
  }

  private func setHears(_ hears: Bool) {
    self.hears = hears
    bell.ring()
  }

  /// Whether nobody waits any longer.
  var isOver: Bool { isClosed }

  /// Nobody waits any longer: all who do are told that their job has not ended.
  func close() {
    isClosed = true
    for number in Array(waiters.keys) { settle(number, nil) }
  }

  private func settle(_ number: UInt64, _ end: JobEnd?) {
    guard let waiter = waiters.removeValue(forKey: number) else { return }
    loop.cancel(waiter.timer)
    let others = (waitedFor[waiter.ticket.job] ?? 1) - 1
    waitedFor[waiter.ticket.job] = others > 0 ? others : nil
    meters.waiting.set(waiters.count)
    waiter.continuation.resume(returning: end)
  }

  // MARK: Looking

  /// Begins to look where nobody does. The task lives as long as somebody waits.
  private func begin() {
    guard !isLooking else { return }
    isLooking = true
    Task(executorPreference: loop) { await self.look() }
  }

  private func look() async {
    var retries = RetryPauses(.database)
    while !waiters.isEmpty {
      let wait = nextLook - EventLoop.now
      if wait > .zero { try? await loop.sleep(for: wait) }
      let began = EventLoop.now
      var found = false
      do {
        for (shard, tickets) in Dictionary(grouping: Set(waiters.values.map(\.ticket)), by: \.token.shard) {
          for start in stride(from: 0, to: tickets.count, by: Self.atOnce) {
            let some = tickets[start..<min(start + Self.atOnce, tickets.count)]
            if try await look(Array(some), in: shard) { found = true }
          }
        }
        retries.reset()
      } catch {
        let pause = retries.next()
        meters.databaseErrors.add()
        if retries.failures == 1 {
          log.warning("The ends of jobs cannot be asked for; asking goes on", ["error": .string("\(error)")])
        }
        try? await loop.sleep(for: pause)
      }
      let ended = EventLoop.now
      meters.lookDuration.observe(ended - began)
      nextLook = ended + (found ? Self.pauseAfterFinding : Self.leastPause)
      guard !waiters.isEmpty else { break }
      // While ends are heard, a look without a hint is for those that were not.
      await bell.wait(atMost: hears ? Self.heardPause : lookEvery)
    }
    isLooking = false
  }

  /// Looks at jobs of one shard, and tells those who wait for one that has ended.
  ///
  /// - Returns: Whether any has ended.
  private func look(_ tickets: [WaitTicket], in shard: Int16) async throws(JobQueueError) -> Bool {
    let ended = try await Self.ended(tickets, shard).run(on: database)
    guard !ended.isEmpty else { return false }
    let succeeded = Set(ended.filter { $0.value == nil }.keys)
    let readable = tickets.filter { succeeded.contains($0.job) }
    var analyses: [JobID: StoredAnalysis] = [:]
    if !readable.isEmpty {
      for analysis in try await read(readable.map { ($0.token, $0.job) }, shard) {
        analyses[analysis.job] = analysis
      }
    }
    for (number, waiter) in waiters where waiter.ticket.token.shard == shard {
      let job = waiter.ticket.job
      guard let end = ended[job] else { continue }
      if let end {
        settle(number, end)
      } else if let analysis = analyses[job] {
        settle(number, .analysed(analysis))
      }
    }
    return true
  }

  /// Which jobs have ended; one with an analysis has nil for its end.
  private static func ended(
    _ tickets: [WaitTicket], _ shard: Int16
  ) -> Statement<[JobID: JobEnd?]> {
    Statement(
      SQLFunction("gateway_ended", 3),
      [.int16(shard), .array(tickets.map(\.token.hash)), .array(tickets.map(\.job.value))],
      as: [Ended].self, while: "asking which jobs have ended"
    ) { jobs in
      Dictionary(jobs.map { ($0.job, $0.state.failure) }) { $1 }
    }
  }

  private struct Ended: Decodable {
    let job: JobID
    let state: AppJobState
  }

  /// Reads analyses, each with a token of its user; what is not the token's is not among them.
  func read(
    _ jobs: [(token: AppToken, job: JobID)], _ shard: Int16
  ) async throws(JobQueueError) -> [StoredAnalysis] {
    guard let reading = try await StoredAnalysis.opening(jobs, shard: shard).run(on: database) else {
      return []
    }
    return try await StoredAnalysis.reading(reading, Array(Set(jobs.map(\.token))), shard: shard)
      .run(on: database)
  }
}
