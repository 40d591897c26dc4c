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
        results[number] = Result(period: job.period, isCancelled: true, attempt: 0, at: now)
        owe(number, Account(user: job.user, period: job.period))
        jobs[number]?.isClosed = true
        takeOut(job)
      }
    }
    return outcomes
  }

  /// Takes a job out wherever it waits, and gives its place up.
  private mutating func takeOut(_ job: Job) {
    let cost = users[job.user].map { limit(of: $0, at: now).cost } ?? 0
    for (lane, rows) in ready {
      guard let index = rows.firstIndex(where: { $0.job == job.number }) else { continue }
      ready[lane]?.remove(at: index)
      guard job.source != 2 else { continue }
      freed[Place(user: job.user, lane: lane, source: job.source), default: Freed()].virtualTime += cost
    }
    if let row = scheduled.first(where: { $0.job == job.number }), row.isCounted {
      freed[Place(user: job.user, lane: row.lane, source: 0), default: Freed()].later += 1
    }
    scheduled.removeAll { $0.job == job.number }
  }

  /// Gives dead jobs another life in the present month, for a unit of it; the lower numbers first.
  mutating func retryDead(_ given: [Int64]) -> [Int64: String] {
    var outcomes = Dictionary(given.map { ($0, "not_dead") }) { first, _ in first }
    let found = Set(given).filter { dead[$0] != nil }.sorted()
    revive(found, &outcomes)
    return outcomes
  }

  /// Gives cancelled jobs another life in the same way, for a day; one that a worker still holds is busy.
  mutating func uncancel(_ given: [Int64]) -> [Int64: String] {
    var outcomes: [Int64: String] = [:]
    let held = Set(leases.values.flatMap { $0.jobs.map(\.job) })
    var found: [Int64] = []
    for number in Set(given).sorted() {
      if jobs[number] == nil {
        outcomes[number] = "unknown"
      } else if let result = results[number], result.isCancelled {
        if result.at <= now - 86_400_000 {
          outcomes[number] = "too_late"
        } else if held.contains(number) {
          outcomes[number] = "busy"
        } else {
          found.append(number)
        }
      } else {
        outcomes[number] = "not_cancelled"
      }
    }
    revive(found, &outcomes)
    return outcomes
  }

  /// Takes units of the present month for jobs, the lower numbers first, and queues those for which there is one.
  private mutating func revive(_ found: [Int64], _ outcomes: inout [Int64: String]) {
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
  }

  private mutating func revive(_ number: Int64) {
    guard var job = jobs[number], let user = users[job.user] else { return }
    job.period = user.months.label(at: now)
    job.expires = nil
    let place = takePlaces(
      1, of: job.user, lane: job.homeLane, source: 0, cost: limit(of: user, at: now).cost, tail: number)
    job.isClosed = false
    jobs[number] = job
    dead[number] = nil
    results[number] = nil
    if let key = job.key { keys[Key(user: job.user, key: key)]?.period = job.period }
    queue(number, lane: job.homeLane, at: place, Tries(), source: 0)
  }

  /// Moves scheduled jobs whose time has come to their lanes, in a line of their own: at most so many of each lane by
  /// age, and where that was not all a few of the next users besides. Answers how many the fullest lane gave by age.
  mutating func promote(limit count: Int) -> Int {
    var most = 0
    for lane in (4...11 as ClosedRange<Int16>).sorted(by: { ($0 % 4, $0) < ($1 % 4, $1) }) {
      let due = Array(scheduled.filter { $0.lane == lane && $0.runAt <= now }.prefix(count))
      promote(due, to: lane)
      most = max(most, due.count)
      if due.count == count { promoteInTurn(lane) }
    }
    return most
  }

  private mutating func promoteInTurn(_ lane: Int16) {
    let users = Set(scheduled.filter { $0.lane == lane }.compactMap { jobs[$0.job]?.user }).sorted()
    let next = Array(users.filter { $0 > clocks[lane]?.turn ?? 0 }.prefix(250))
    let due = next.flatMap { user in
      scheduled.filter { $0.lane == lane && $0.runAt <= now && jobs[$0.job]?.user == user }.prefix(4)
    }
    promote(due, to: lane)
    clocks[lane]?.turn = next.count == 250 ? next.last ?? 0 : 0
  }

  private mutating func promote(_ due: [Scheduled], to lane: Int16) {
    let taken = Set(due.map(\.job))
    scheduled.removeAll { taken.contains($0.job) }
    let open = due.filter { jobs[$0.job]?.isClosed == false }
    for (number, rows) in Dictionary(grouping: open, by: { jobs[$0.job]?.user ?? 0 }) {
      guard let user = users[number] else { continue }
      let cost = limit(of: user, at: now).cost
      var next = takePlaces(rows.count, of: number, lane: lane, source: 1, cost: cost, tail: rows.last?.job)
      for row in rows {
        queue(row.job, lane: lane, at: next, row.tries, source: 1)
        next += cost
      }
    }
    for row in due where row.isCounted {
      guard let user = jobs[row.job]?.user else { continue }
      freed[Place(user: user, lane: lane, source: 0), default: Freed()].later += 1
    }
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
