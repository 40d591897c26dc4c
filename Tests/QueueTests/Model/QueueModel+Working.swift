import QueueTestSupport
import TestSupport

extension QueueModel {
  /// What a claim asks of one lane.
  struct LaneAsk: Equatable {
    let lane: Int16
    let from: Int64
    let limit: Int
  }

  static func isQuarantine(_ lane: Int16) -> Bool { lane % 4 == 3 }

  /// Takes up to so many jobs, lane by lane, each lane into a lease of its own; of quarantined jobs one at a time.
  mutating func claim(
    worker: Int64, firstLease: Int64, _ lanes: [LaneAsk], count: Int, leaseDuration: Time
  ) -> [Claimed] {
    var claimed: [Claimed] = []
    for (index, ask) in lanes.enumerated() {
      let limit = min(count - claimed.count, ask.limit, Self.isQuarantine(ask.lane) ? 1 : .max)
      let lease = firstLease + Int64(index)
      var found: [Waiting] = []
      // Those cancelled meanwhile drop out; when nothing is left of what was taken, further on there may be more.
      while limit > 0, found.isEmpty {
        let taken = take(limit, ask)
        if taken.isEmpty { break }
        found = taken.filter { jobs[$0.job]?.isClosed == false }
      }
      guard !found.isEmpty else { continue }
      leases[lease] = Lease(
        worker: worker, lane: ask.lane, deadline: now + leaseDuration, jobs: found.map { ($0.job, $0.tries) })
      claimed += found.compactMap { row in
        jobs[row.job].map { job in
          Claimed(
            lease: lease, lane: ask.lane, job: row.job, period: job.period,
            attempt: Int16(row.tries.consumed + 1), virtualTime: row.virtualTime, user: job.user,
            isExpired: job.expires.map { $0 <= now } ?? false)
        }
      }
    }
    return claimed
  }

  private mutating func take(_ limit: Int, _ ask: LaneAsk) -> [Waiting] {
    let rows = ready[ask.lane, default: []]
    guard let first = rows.firstIndex(where: { $0.virtualTime >= ask.from }) else { return [] }
    let end = min(first + limit, rows.endIndex)
    ready[ask.lane]?.removeSubrange(first..<end)
    return Array(rows[first..<end])
  }

  /// Pushes the deadlines of a worker's leases on; answers those that it still holds.
  mutating func heartbeat(worker: Int64, _ asked: [Int64], leaseDuration: Time) -> Set<Int64> {
    let held = Set(asked.filter { leases[$0]?.worker == worker })
    for lease in held { leases[lease]?.deadline = now + leaseDuration }
    return held
  }

  /// Stores results of jobs that the worker holds, each in the lease named beside it; answers those that were stored.
  mutating func complete(worker: Int64, leases asked: [Int64], _ given: [Int64]) -> Set<Int64> {
    var stored: Set<Int64> = []
    for (_, _, held) in holding(worker: worker, asked, given) where results[held.job] == nil {
      guard let job = jobs[held.job] else { continue }
      results[held.job] = Result(
        period: job.period, isCancelled: false, attempt: held.tries.consumed + 1, at: now)
      stored.insert(held.job)
    }
    release(worker: worker, asked, given)
    return stored
  }

  /// Ends attempts: again after a delay, or for good when it is nil or no attempt is left.
  mutating func fail(
    worker: Int64, leases asked: [Int64], _ given: [Int64], delay: Time?, consumes: Bool, failureClass: String
  ) -> [Int64: String] {
    var outcomes = Dictionary(given.map { ($0, "stale") }) { first, _ in first }
    for (_, lane, held) in holding(worker: worker, asked, given) {
      guard let job = jobs[held.job], !job.isClosed else { continue }
      let consumed = held.tries.consumed + (consumes ? 1 : 0)
      failures[held.job, default: []].append(
        Failure(attempt: held.tries.consumed + 1, isConsumed: consumes, failureClass: failureClass))
      if let delay, !(consumes && consumed >= job.maxAttempts) {
        // Home, where the lane is now; one that runs alone goes on so until it ends. The losses stay with it.
        let isAlone = Self.isQuarantine(lane)
        again(
          held.job, lane: isAlone ? lane : job.homeLane, notBefore: isAlone ? 0 : job.virtualTime,
          Tries(consumed: consumed, losses: held.tries.losses), delay: delay)
        outcomes[held.job] = "retried"
      } else {
        bury(held.job, attempts: consumed, failureClass)
        outcomes[held.job] = "dead"
      }
    }
    release(worker: worker, asked, given)
    return outcomes
  }

  /// Takes jobs back unharmed: to the lane they came from, quarantined ones into quarantine.
  mutating func release(worker: Int64, leases asked: [Int64], _ given: [Int64], delay: Time) -> Set<Int64> {
    var returned: Set<Int64> = []
    for (_, lane, held) in holding(worker: worker, asked, given) {
      guard let job = jobs[held.job], !job.isClosed else { continue }
      let place = Self.isQuarantine(lane) ? 0 : job.virtualTime
      again(held.job, lane: lane, notBefore: place, held.tries, delay: delay)
      returned.insert(held.job)
    }
    release(worker: worker, asked, given)
    return returned
  }

  struct Rescued: Equatable {
    var leases = 0
    var requeued = 0
    var dead = 0
  }

  /// The longest delay of a job that was lost alone, by its attempts so far; the shortest is half of it.
  static func longestDelay(consumed: Int) -> Time {
    min(60_000, 1000 << Time(min(consumed, 6)))
  }

  /// Takes over the leases whose deadline has passed. The first loss costs a job nothing, the second makes it
  /// a quarantined job, and only a loss alone consumes an attempt.
  ///
  /// - Parameter delay: the delay that chance gave to a job that was lost alone.
  mutating func rescue(delay: (_ job: Int64, _ longest: Time) throws -> Time) rethrows -> Rescued {
    var rescued = Rescued()
    for (id, lease) in leases.filter({ $0.value.deadline < now }).sorted(by: { $0.key < $1.key }) {
      rescued.leases += 1
      leases[id] = nil
      for (number, tries) in lease.jobs {
        guard let job = jobs[number], !job.isClosed, results[number] == nil else { continue }
        let isAlone = Self.isQuarantine(lease.lane)
        let after = Tries(consumed: tries.consumed + (isAlone ? 1 : 0), losses: min(tries.losses + 1, 2))
        failures[number, default: []].append(
          Failure(attempt: tries.consumed + 1, isConsumed: isAlone, failureClass: "worker_lost"))
        if isAlone, after.consumed >= job.maxAttempts {
          bury(number, attempts: after.consumed, "worker_lost")
          rescued.dead += 1
          continue
        }
        rescued.requeued += 1
        if isAlone {
          let delay = try delay(number, Self.longestDelay(consumed: after.consumed))
          again(number, lane: lease.lane, notBefore: 0, after, delay: delay)
        } else if tries.losses == 0 {
          again(number, lane: lease.lane, notBefore: job.virtualTime, after, delay: 0)
        } else {
          again(number, lane: job.kind * 4 + 3, notBefore: 0, after, delay: 0)
        }
      }
    }
    return rescued
  }

  // MARK: Parts

  /// The given jobs that a worker holds, each in the lease named beside it. Without the lease there are none.
  private func holding(
    worker: Int64, _ asked: [Int64], _ given: [Int64]
  ) -> [(lease: Int64, lane: Int16, held: (job: Int64, tries: Tries))] {
    Self.grouped(asked, given).sorted { $0.key < $1.key }.flatMap { id, named in
      guard let lease = leases[id], lease.worker == worker else {
        return [(lease: Int64, lane: Int16, held: (job: Int64, tries: Tries))]()
      }
      return lease.jobs.filter { named.contains($0.job) }.map { (id, lease.lane, $0) }
    }
  }

  private static func grouped(_ leases: [Int64], _ jobs: [Int64]) -> [Int64: Set<Int64>] {
    zip(leases, jobs).reduce(into: [:]) { $0[$1.0, default: []].insert($1.1) }
  }

  /// Takes ended jobs out of the leases; a lease of which nothing is left goes.
  private mutating func release(worker: Int64, _ asked: [Int64], _ given: [Int64]) {
    for (id, named) in Self.grouped(asked, given) {
      guard let lease = leases[id], lease.worker == worker else { continue }
      let rest = lease.jobs.filter { !named.contains($0.job) }
      leases[id]?.jobs = rest
      if rest.isEmpty { leases[id] = nil }
    }
  }

  /// Queues a job once more, not before where the lane is now.
  private mutating func again(
    _ job: Int64, lane: Int16, notBefore virtualTime: Int64, _ tries: Tries, delay: Time
  ) {
    if delay > 0 {
      schedule(job, lane: lane, at: now + delay, tries, isCounted: false)
    } else {
      queue(job, lane: lane, at: max(virtualTime, clocks[lane]?.now ?? 0), tries, source: 2)
    }
  }

  private mutating func bury(_ number: Int64, attempts: Int, _ failureClass: String) {
    guard let job = jobs[number] else { return }
    dead[number] = Death(period: job.period, attempts: attempts, failureClass: failureClass)
    owe(number, Account(user: job.user, period: job.period))
  }
}
