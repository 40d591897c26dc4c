import QueueTestSupport
import TestSupport

/// Watches the calls of a queue and what they answer, and knows nothing of how it works: what a caller may
/// rely on whatever workers do.
struct QueueObserver {
  private enum End { case analysed, cancelled, dead }

  private struct Life {
    let user: String
    let maxAttempts: Int
    var consumed = 0
    /// The lease that holds it, as far as answers tell.
    var holder: Int64?
    var end: End?
  }

  private struct Lease {
    let worker: Int64
    var ends: QueueModel.Time
  }

  private var lives: [Int64: Life] = [:]
  private var leases: [Int64: Lease] = [:]
  /// Units taken and not owed back.
  private(set) var units = 0

  mutating func see(_ operation: QueueOperation, _ outcome: QueueOutcome, at now: QueueModel.Time) throws {
    switch (operation, outcome) {
    case (.submit(let asks, let maxAttempts), .answers(let answers)):
      for (ask, answer) in zip(asks, answers) { try submitted(ask, answer, Int(maxAttempts)) }
    case (.claim(let worker, _, _, let count, let leaseDuration), .claimed(let jobs)):
      try hold(jobs.count <= count, "a claim of \(count) brought \(jobs.count)")
      for job in jobs { try claimed(job, by: worker, until: now + leaseDuration) }
    case (.heartbeat(let worker, _, let leaseDuration), .held(let kept)):
      for lease in kept {
        try hold(leases[lease]?.worker == worker, "I6: worker \(worker) keeps another's lease \(lease)")
        leases[lease]?.ends = now + leaseDuration
      }
    case (.complete(let worker, let leases, let given), .held(let stored)):
      try ended(stored, of: given, leases, by: worker, .analysed)
    case (.fail(let worker, let leases, let given, _, let consumes, _), .verdicts(let verdicts)):
      for job in verdicts.keys where verdicts[job] != "stale" { lives[job]?.consumed += consumes ? 1 : 0 }
      try ended(Set(verdicts.filter { $0.value != "stale" }.keys), of: given, leases, by: worker, nil)
      for (job, verdict) in verdicts where verdict == "dead" { try ended(job, .dead) }
    case (.release(let worker, let leases, let given, _), .held(let returned)):
      try ended(returned, of: given, leases, by: worker, nil)
    case (.cancel, .verdicts(let verdicts)): try cancelled(verdicts)
    case (.retryDead, .verdicts(let verdicts)): try revived(verdicts, after: .dead)
    case (.uncancel, .verdicts(let verdicts)): try revived(verdicts, after: .cancelled)
    case (.rescue, .rescued(let rescued)): rescue(rescued, at: now)
    default: break
    }
  }

  private mutating func submitted(_ ask: Ask, _ answer: Answer, _ maxAttempts: Int) throws {
    switch answer.outcome {
    case "created":
      guard let job = answer.job else { throw BrokenRule("I1: a job was created without a number") }
      try hold(lives[job] == nil, "I2: the number \(job) was given twice")
      lives[job] = Life(user: ask.user, maxAttempts: maxAttempts)
      units += 1
      if let limit = answer.limit, let used = answer.used {
        try hold(used <= limit, "I5: \(used) of \(limit)")
      }
    case "duplicate":
      try hold(answer.job.map { lives[$0] != nil } ?? false, "I2: a duplicate of no job")
    default:
      try hold(answer.job == nil && answer.reason != nil, "a refusal gives its reason and no number")
      // One that died by a rescue is not named in any answer, and counts as open here.
      try hold(
        answer.reason != "waiting_limit" || lives.values.contains { $0.user == ask.user && $0.end == nil },
        "I14: \(ask.user) has nothing open and is refused for waiting")
    }
  }

  private mutating func claimed(_ job: Claimed, by worker: Int64, until end: QueueModel.Time) throws {
    guard let life = lives[job.job] else { throw BrokenRule("I2: job \(job.job) was never submitted") }
    try hold(life.holder == nil, "I6: job \(job.job) runs in two leases")
    try hold(life.end == nil || life.end == .dead, "I1: job \(job.job) runs after its end")
    try hold(Int(job.attempt) <= life.maxAttempts, "I7: attempt \(job.attempt) of \(life.maxAttempts)")
    try hold(leases[job.lease].map { $0.worker == worker } ?? true, "lease \(job.lease) has two workers")
    leases[job.lease] = Lease(worker: worker, ends: end)
    lives[job.job]?.holder = job.lease
  }

  /// What the queue says it took in must be held; and what is held and lives it must take in.
  private mutating func ended(
    _ taken: Set<Int64>, of given: [Int64], _ holders: [Int64], by worker: Int64, _ end: End?
  ) throws {
    let named = Dictionary(zip(given, holders).map { ($0, Set([$1])) }) { $0.union($1) }
    for job in Set(given).union(taken) {
      guard let life = lives[job] else { continue }
      let isHeld =
        life.holder.map { named[job, default: []].contains($0) && leases[$0]?.worker == worker } ?? false
      let isTaken = taken.contains(job)
      try hold(isHeld || !isTaken, "I6: job \(job) was ended by worker \(worker), who does not hold it")
      try hold(
        isTaken || !isHeld || life.end != nil,
        "I1: job \(job) is held by worker \(worker) and was not ended")
      if isHeld { lives[job]?.holder = nil }
      if isTaken, let end { try ended(job, end) }
      try hold(life.consumed <= life.maxAttempts, "I7: \(life.consumed) attempts of \(life.maxAttempts)")
    }
  }

  private mutating func ended(_ job: Int64, _ end: End) throws {
    try hold(lives[job]?.end == nil, "I3: job \(job) ended twice")
    lives[job]?.end = end
    if end != .analysed { units -= 1 }
  }

  private mutating func cancelled(_ verdicts: [Int64: String]) throws {
    for (job, verdict) in verdicts {
      let end = lives[job]?.end
      switch verdict {
      case "cancelled": if end != .cancelled { try ended(job, .cancelled) }
      case "finished": try hold(end == .analysed, "job \(job) is called finished and is not")
      case "unknown": try hold(lives[job] == nil, "job \(job) is called unknown and is not")
      // A rescue does not name those that it found dead.
      default: try hold(end == nil || end == .dead, "job \(job) is called dead and is not")
      }
    }
  }

  private mutating func revived(_ verdicts: [Int64: String], after end: End) throws {
    for (job, verdict) in verdicts where verdict == "requeued" {
      // A rescue does not name those that it found dead.
      let before = lives[job]?.end
      try hold(before == end || end == .dead && before == nil, "job \(job) lives again and was not \(end)")
      lives[job]?.end = nil
      lives[job]?.consumed = 0
      lives[job]?.holder = nil
      units += 1
    }
  }

  private mutating func rescue(_ rescued: QueueModel.Rescued, at now: QueueModel.Time) {
    units -= rescued.dead
    for (job, life) in lives {
      if let holder = life.holder, let lease = leases[holder], lease.ends < now { lives[job]?.holder = nil }
    }
  }
}
