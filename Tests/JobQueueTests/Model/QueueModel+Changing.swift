extension QueueModel {
  /// Ends jobs that have not ended.
  mutating func cancel(_ given: [Int64]) -> [Int64: String] {
    var outcomes: [Int64: String] = [:]
    for number in Set(given).sorted() {
      guard let job = jobs[number] else {
        outcomes[number] = "unknown"
        continue
      }
      if dead[number] != nil {
        outcomes[number] = "dead"
      } else if let result = results[number] {
        outcomes[number] = result.isCancelled ? "cancelled" : "finished"
      } else {
        outcomes[number] = "cancelled"
        results[number] = Result(period: job.period, isCancelled: true, attempt: 0)
        owe(number, Account(user: job.user, period: job.period))
        jobs[number]?.isClosed = true
        takeOut(job)
      }
    }
    return outcomes
  }

  /// Takes a job out where it first queued; elsewhere it is dropped by whoever finds it.
  private mutating func takeOut(_ job: Job) {
    let index = ready[job.homeLane]?.firstIndex { $0.job == job.number && $0.virtualTime == job.virtualTime }
    if let index {
      ready[job.homeLane]?.remove(at: index)
    } else {
      scheduled.removeAll { $0.job == job.number }
    }
  }

  /// Gives dead jobs another life in the present month, for a unit of it; the lower numbers first.
  mutating func retryDead(_ given: [Int64]) -> [Int64: String] {
    var outcomes = Dictionary(given.map { ($0, "not_dead") }) { first, _ in first }
    let found = Set(given).filter { dead[$0] != nil }.sorted()
    var byAccount: [Account: [Int64]] = [:]
    for number in found {
      guard let job = jobs[number], let user = users[job.user] else { continue }
      byAccount[Account(user: job.user, period: user.months.label(at: now)), default: []].append(number)
    }
    let groups = byAccount.sorted { $0.key.user < $1.key.user }
    let dealt = deal(
      groups.map { group in
        (group.key, users[group.key.user].flatMap { limit(of: $0, at: now).limit }, group.value.count)
      }, countRefused: false)
    for (group, units) in zip(groups, dealt) {
      for (place, number) in group.value.enumerated() {
        outcomes[number] = place < units.granted ? "requeued" : "quota"
      }
    }
    for number in found where outcomes[number] == "requeued" { revive(number) }
    return outcomes
  }

  private mutating func revive(_ number: Int64) {
    guard var job = jobs[number], let user = users[job.user] else { return }
    job.period = user.months.label(at: now)
    job.expires = nil
    job.virtualTime = takePlaces(
      1, of: job.user, lane: job.homeLane, line: 0, cost: limit(of: user, at: now).cost)
    jobs[number] = job
    dead[number] = nil
    if let key = job.key { keys[Key(user: job.user, key: key)]?.period = job.period }
    queue(number, lane: job.homeLane, at: job.virtualTime, Tries())
  }

  /// Moves scheduled jobs whose time has come to their lanes, in a line of their own; answers how many were
  /// taken, those cancelled meanwhile too.
  mutating func promote(limit count: Int) -> Int {
    let due = Array(scheduled.prefix { $0.runAt <= now }.prefix(count))
    scheduled.removeFirst(due.count)
    let open = due.filter { jobs[$0.job]?.isClosed == false }
    var next: [Place: Int64] = [:]
    var counts: [Place: Int] = [:]
    func place(_ row: Scheduled) -> Place {
      Place(user: jobs[row.job]?.user ?? 0, lane: row.lane, line: 1)
    }
    for row in open { counts[place(row), default: 0] += 1 }
    for row in open {
      let place = place(row)
      guard let user = users[place.user] else { continue }
      let cost = limit(of: user, at: now).cost
      let first =
        next[place]
        ?? takePlaces(counts[place] ?? 0, of: place.user, lane: row.lane, line: 1, cost: cost)
      queue(row.job, lane: row.lane, at: first, row.tries)
      next[place] = first + cost
    }
    return due.count
  }

  /// Publishes how far lanes were claimed, at most once a second each; answers from where claims scan.
  mutating func tick(_ marks: [Int16: Int64]) -> [Int16: Int64] {
    for (lane, mark) in marks {
      var clock = clocks[lane] ?? LaneClock(stagedAt: now, at: .min)
      clocks[lane] = clock
      guard clock.at < now - 900 else { continue }
      guard mark > clock.now || clock.staged < clock.now || clock.scanFrom < clock.staged else { continue }
      let furthest = max(clock.now, mark)
      if clock.stagedAt <= now - 2000 {
        let lowest = ready[lane]?.first { $0.virtualTime >= clock.scanFrom }?.virtualTime
        clock.scanFrom = max(clock.scanFrom, min(clock.staged, lowest ?? clock.staged))
        clock.staged = furthest
        clock.stagedAt = now
      }
      clock.now = furthest
      clock.at = now
      clocks[lane] = clock
    }
    return marks.mapValues { _ in 0 }.merging(
      clocks.filter { marks[$0.key] != nil }.mapValues(\.scanFrom)
    ) { $1 }
  }

  /// Lowers the published marks to what was committed below them; answers in how many lanes.
  mutating func sweep() -> Int {
    clocks.count { lane, clock in
      guard let lowest = ready[lane]?.first?.virtualTime, clock.scanFrom > lowest else { return false }
      clocks[lane]?.scanFrom = lowest
      return true
    }
  }
}
