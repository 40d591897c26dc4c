import TestSupport

extension QueueModel {
  /// What must hold at any moment: each job in one place, usage that is what was analysed or is still open,
  /// no attempt beyond the last.
  func check() throws {
    var places: [Int64: [String]] = [:]
    for rows in ready.values { for row in rows { places[row.job, default: []].append("ready") } }
    for row in scheduled { places[row.job, default: []].append("scheduled") }
    for lease in leases.values { for held in lease.jobs { places[held.job, default: []].append("lease") } }
    for job in results.keys { places[job, default: []].append("result") }
    for job in dead.keys { places[job, default: []].append("dead") }
    try hold(places.keys.allSatisfy { jobs[$0] != nil }, "I2: a job has a place and no submit")

    for (lane, clock) in clocks {
      let lowest = ready[lane]?.first?.virtualTime ?? .max
      try hold(
        lowest >= clock.scanFrom,
        "a job waits at \(lowest) in lane \(lane), below the published \(clock.scanFrom)")
    }

    var units: [Account: Int] = [:]
    for (number, job) in jobs {
      let places = places[number] ?? []
      // A cancelled job may still be met on its way.
      let isSound =
        job.isClosed
        ? places.contains("result") && !places.contains("dead") && places.count <= 2 : places.count == 1
      try hold(isSound, "I1: job \(number) is in \(places)")
      let isRefunded = dead[number] != nil || job.isClosed
      if !isRefunded { units[Account(user: job.user, period: job.period), default: 0] += 1 }
      if let result = results[number] {
        try hold(result.attempt <= job.maxAttempts, "I7: attempt \(result.attempt) of \(job.maxAttempts)")
        try hold(result.period == job.period, "I3: the result of job \(number) is in another month")
      }
      if let death = dead[number] {
        try hold(death.attempts <= job.maxAttempts, "I7: \(death.attempts) attempts of \(job.maxAttempts)")
        let causes = failures[number, default: []].map(\.failureClass)
        try hold(causes.last == death.failureClass, "I7: job \(number) is dead without its cause")
      }
    }
    for account in Set(units.keys).union(usage.keys).union(refunds.keys) {
      let (used, owed) = (usage[account]?.used ?? 0, refunds[account]?.count ?? 0)
      try hold(
        used - owed == units[account, default: 0],
        "I4: \(account) has used \(used), is owed \(owed), has \(units[account] ?? 0) jobs")
    }
  }

  /// Jobs that have not ended, cancelled ones apart.
  var open: [Int64] {
    jobs.values.filter { !$0.isClosed && results[$0.number] == nil && dead[$0.number] == nil }.map(\.number)
  }
}
