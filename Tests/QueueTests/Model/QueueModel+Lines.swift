extension QueueModel {
  /// All that it knows, a line for each fact.
  var lines: Set<String> {
    var lines: Set<String> = []
    func period(_ job: Int64) -> String { jobs[job].map { String($0.period) } ?? "none" }
    for (lane, rows) in ready {
      for row in rows {
        lines.insert("ready \(lane) \(row.virtualTime) \(row.job) \(row.tries.code) \(period(row.job))")
      }
    }
    for row in scheduled {
      lines.insert(
        "scheduled \(row.lane) \(row.runAt) \(row.job) \(row.tries.code) \(period(row.job)) \(row.isCounted ? 1 : 0)"
      )
    }
    for (id, lease) in leases {
      for held in lease.jobs {
        lines.insert(
          "lease \(id) of \(lease.worker) in \(lease.lane) until \(lease.deadline): "
            + "\(held.job) \(held.tries.code) \(period(held.job))")
      }
    }
    for job in jobs.values {
      lines.insert(
        "job \(job.number) of \(job.user) in \(job.homeLane) at \(job.virtualTime): \(job.period) "
          + "\(job.maxAttempts) \(job.isClosed ? 1 : 0) \(job.expires.map { String($0) } ?? "") \(job.source)"
      )
    }
    for (job, result) in results {
      lines.insert("result \(job) \(result.period) \(result.isCancelled ? 2 : 1) \(result.attempt)")
    }
    for (job, death) in dead {
      lines.insert("dead \(job) \(death.period) \(death.attempts) \(death.failureClass)")
    }
    for (job, list) in failures {
      let ordered = list.sorted {
        ($0.attempt, $0.isConsumed ? 1 : 0, $0.failureClass) < (
          $1.attempt, $1.isConsumed ? 1 : 0, $1.failureClass
        )
      }
      let texts = ordered.map { "\($0.attempt) \($0.isConsumed ? 1 : 0) \($0.failureClass)" }
      lines.insert("failures \(job): \(texts.joined(separator: ", "))")
    }
    for (account, owed) in refunds {
      for job in owed { lines.insert("refund \(account.user) \(account.period) \(job)") }
    }
    for (account, usage) in usage where usage != Usage() {
      lines.insert(
        "usage \(account.user) \(account.period) \(usage.used) \(usage.refunded) \(usage.refused)")
    }
    for (place, share) in shares {
      lines.insert(
        "place \(place.user) \(place.lane) \(place.source) \(share.last) \(share.later) "
          + "\(share.tail.virtualTime) \(share.tail.job)")
    }
    for (place, given) in freed {
      lines.insert(
        "freed \(place.user) \(place.lane) \(place.source) \(given.virtualTime) \(given.later)")
    }
    for (lane, clock) in clocks {
      lines.insert("clock \(lane) \(clock.now) \(clock.scanFrom) \(clock.staged) \(clock.turn)")
    }
    for user in users.values where !user.months.changes.isEmpty {
      lines.insert("anchors of \(user.reference): \(user.months.changes.joined(separator: ", "))")
    }
    for (key, job) in keys { lines.insert("key \(key.user) \(job.job) \(job.period)") }
    return lines
  }
}
