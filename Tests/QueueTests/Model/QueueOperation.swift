import QueueTestSupport

/// One call of the queue, or the passing of time.
enum QueueOperation {
  typealias Time = QueueModel.Time

  case submit([Ask], maxAttempts: Int16)
  case claim(worker: Int64, firstLease: Int64, [QueueModel.LaneAsk], count: Int, leaseDuration: Time)
  case heartbeat(worker: Int64, [Int64], leaseDuration: Time)
  case complete(worker: Int64, leases: [Int64], [Int64])
  case fail(worker: Int64, leases: [Int64], [Int64], delay: Time?, consumes: Bool, failureClass: String)
  case release(worker: Int64, leases: [Int64], [Int64], delay: Time)
  case cancel([Int64])
  case retryDead([Int64])
  case uncancel([Int64])
  case rescue
  case promote(limit: Int)
  case applyRefunds(limit: Int)
  case tick([Int16: Int64])
  case sweep
  case setPlan(user: String, String, from: Time)
  case setLimit(plan: String, Int?, from: Time)
  case setAnchor(user: String, Int, from: Int16?)
  case advance(Time)
}

/// What a call answers.
enum QueueOutcome: Equatable {
  case answers([Answer])
  case claimed([Claimed])
  case held(Set<Int64>)
  case verdicts([Int64: String])
  case rescued(QueueModel.Rescued)
  case count(Int)
  case marks([Int16: Int64])
  case nothing
}

extension QueueModel {
  /// Carries an operation out.
  ///
  /// - Parameters:
  ///   - numbers: the numbers that the jobs of a submit get.
  ///   - delay: the delay that chance gives to a job that was lost alone, of at most the given one.
  mutating func apply(
    _ operation: QueueOperation, numbers: [Int64] = [],
    delay: (_ job: Int64, _ longest: Time) throws -> Time
  ) rethrows -> QueueOutcome {
    switch operation {
    case .submit(let asks, let maxAttempts):
      return .answers(submit(asks, maxAttempts: Int(maxAttempts), numbers: numbers))
    case .claim(let worker, let lease, let lanes, let count, let leaseDuration):
      return .claimed(
        claim(worker: worker, firstLease: lease, lanes, count: count, leaseDuration: leaseDuration))
    case .heartbeat(let worker, let leases, let leaseDuration):
      return .held(heartbeat(worker: worker, leases, leaseDuration: leaseDuration))
    case .complete(let worker, let leases, let jobs):
      return .held(complete(worker: worker, leases: leases, jobs))
    case .fail(let worker, let leases, let jobs, let delay, let consumes, let failureClass):
      return .verdicts(
        fail(
          worker: worker, leases: leases, jobs, delay: delay, consumes: consumes, failureClass: failureClass))
    case .release(let worker, let leases, let jobs, let delay):
      return .held(release(worker: worker, leases: leases, jobs, delay: delay))
    case .cancel(let jobs): return .verdicts(cancel(jobs))
    case .retryDead(let jobs): return .verdicts(retryDead(jobs))
    case .uncancel(let jobs): return .verdicts(uncancel(jobs))
    case .rescue: return .rescued(try rescue(delay: delay))
    case .promote(let limit): return .count(promote(limit: limit))
    case .applyRefunds(let limit): return .count(applyRefunds(limit: limit))
    case .tick(let marks): return .marks(tick(marks))
    case .sweep: return .count(sweep())
    case .setPlan(let user, let plan, let from): setPlan(user, plan, from: from)
    case .setLimit(let plan, let limit, let from): setLimit(plan, limit, from: from)
    case .setAnchor(let user, let day, let from):
      return .count(Int(setAnchor(user, day, from: from) ?? -1))
    case .advance(let time): now += time
    }
    return .nothing
  }
}
