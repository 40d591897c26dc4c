/// What the queue promises, as a value: users with plans and zones, jobs and where they are, leases, results,
/// the dead, refunds and usage. Its operations have the names and the meaning of the database's functions.
///
/// It is written from the rules and not for speed, knows no concurrency, and takes the time from its own
/// clock. Numbers that the database makes up (of users, jobs and leases, and the chance in a delay) are given.
struct QueueModel {
  /// Milliseconds since 1970.
  typealias Time = Int64

  /// Something that holds from a moment on.
  struct Dated<Value> {
    let from: Time
    var value: Value
  }

  struct Plan {
    let cost: Int64
    /// In the order of their moments; nil is no limit.
    var limits: [Dated<Int?>]
  }

  struct User {
    let number: Int64
    let reference: String
    var months: Months
    /// Names of plans, in the order of their moments.
    var plans: [Dated<String>]
  }

  struct Job {
    let number: Int64
    let user: Int64
    let kind: Int16
    let homeLane: Int16
    var period: Int16
    /// Where it waits, or waited last; -1 while it was only ever scheduled.
    var virtualTime: Int64
    /// How it took that place: 0 submitted, 1 promoted; 2 when it came back without taking one.
    var source: Int16 = 0
    var expires: Time?
    let maxAttempts: Int
    let key: String?
    var isClosed = false
  }

  /// Attempts that were consumed, and leases that were lost with the job in them (two stand for more).
  struct Tries: Equatable {
    var consumed = 0
    var losses = 0
    /// As the database writes it.
    var code: Int { consumed + 256 * losses }
  }

  struct Waiting {
    let virtualTime: Int64
    let job: Int64
    let tries: Tries
  }

  struct Scheduled {
    let runAt: Time
    let job: Int64
    let lane: Int16
    let tries: Tries
    /// Whether it counts as waiting: it was submitted for later and not yet promoted.
    let isCounted: Bool
  }

  struct Lease {
    let worker: Int64
    let lane: Int16
    var deadline: Time
    var jobs: [(job: Int64, tries: Tries)]
  }

  struct Result {
    let period: Int16
    let isCancelled: Bool
    let attempt: Int
    /// When it ended.
    let at: Time
  }

  struct Death {
    let period: Int16
    let attempts: Int
    let failureClass: String
  }

  struct Failure {
    let attempt: Int
    let isConsumed: Bool
    let failureClass: String
  }

  /// A user's month.
  struct Account: Hashable {
    let user: Int64
    let period: Int16
  }

  struct Usage: Equatable {
    var used = 0
    var refunded = 0
    var refused = 0
  }

  /// A user's place in a lane, as what is submitted (0) or promoted (1).
  struct Place: Hashable {
    let user: Int64
    let lane: Int16
    let source: Int16
  }

  /// What is known of a user's place.
  struct Share {
    /// Where the next job goes, if the lane has not come further.
    var last: Int64
    /// The job furthest behind; 0 for none.
    var tail: (virtualTime: Int64, job: Int64)
    /// Jobs that were submitted for later and not yet promoted.
    var later = 0
  }

  /// What was given up of a place and not yet taken off it.
  struct Freed {
    var virtualTime: Int64 = 0
    var later = 0
  }

  struct LaneClock {
    /// The user after whom the next turn of a promotion begins.
    var turn: Int64 = 0
    var now: Int64 = 0
    var scanFrom: Int64 = 0
    var staged: Int64 = 0
    var stagedAt: Time
    var at: Time
  }

  struct Key: Hashable {
    let user: Int64
    let key: String
  }

  struct KeyedJob {
    let job: Int64
    var period: Int16
    let content: String
  }

  var now: Time
  /// The months that have partitions.
  let partitions: ClosedRange<Int16>
  /// Jobs of one user that may wait; nil for no limit.
  let maxWaitingPerUser: Int64?

  var plans: [String: Plan]
  var users: [Int64: User] = [:]
  var numbers: [String: Int64] = [:]
  var jobs: [Int64: Job] = [:]
  var keys: [Key: KeyedJob] = [:]
  /// By lane, in the order of virtual time and number.
  var ready: [Int16: [Waiting]] = [:]
  /// In the order of time and number.
  var scheduled: [Scheduled] = []
  var leases: [Int64: Lease] = [:]
  var results: [Int64: Result] = [:]
  var dead: [Int64: Death] = [:]
  var failures: [Int64: [Failure]] = [:]
  var refunds: [Account: [Int64]] = [:]
  var usage: [Account: Usage] = [:]
  var shares: [Place: Share] = [:]
  var freed: [Place: Freed] = [:]
  var clocks: [Int16: LaneClock] = [:]

  init(now: Time, partitions: ClosedRange<Int16>, maxWaitingPerUser: Int64?, plans: [String: Plan]) {
    self.now = now
    self.partitions = partitions
    self.maxWaitingPerUser = maxWaitingPerUser
    self.plans = plans
  }

  // MARK: Accounts

  mutating func addUser(_ number: Int64, _ reference: String, plan: String, months: Months) {
    users[number] = User(
      number: number, reference: reference, months: months, plans: [Dated(from: .min, value: plan)])
    numbers[reference] = number
  }

  /// Has a user's months end on a day from one on that has not begun and has nothing counted in it; nil for the first
  /// such. Answers from which on, nil where it is refused. Who has nothing counted has it from the beginning.
  mutating func setAnchor(_ reference: String, _ day: Int, from: Int16?) -> Int16? {
    guard let number = numbers[reference], var user = users[number] else { return nil }
    let counted = usage.filter { $0.key.user == number && $0.value != Usage() }.map(\.key.period)
    let first = from == nil && counted.isEmpty ? 0 : max(user.months.label(at: now), counted.max() ?? 0) + 1
    guard (from ?? first) >= first else { return nil }
    user.months = user.months.ending(on: day, from: from ?? first)
    users[number] = user
    return from ?? first
  }

  mutating func setPlan(_ reference: String, _ plan: String, from: Time) {
    guard let number = numbers[reference], var user = users[number] else { return }
    Self.set(plan, from: from, in: &user.plans)
    users[number] = user
  }

  mutating func setLimit(_ plan: String, _ limit: Int?, from: Time) {
    guard var changed = plans[plan] else { return }
    Self.set(limit, from: from, in: &changed.limits)
    plans[plan] = changed
  }

  /// The limit and the cost in force for a user at a moment.
  func limit(of user: User, at time: Time) -> (limit: Int?, cost: Int64) {
    guard let name = Self.value(of: user.plans, at: time), let plan = plans[name] else { return (0, 0) }
    return (Self.value(of: plan.limits, at: time) ?? 0, plan.cost)
  }

  // MARK: Where things are put

  /// Queues a job, in a place of a source or, for source 2, without one.
  mutating func queue(_ job: Int64, lane: Int16, at virtualTime: Int64, _ tries: Tries, source: Int16) {
    jobs[job]?.virtualTime = virtualTime
    jobs[job]?.source = source
    let row = Waiting(virtualTime: virtualTime, job: job, tries: tries)
    let rows = ready[lane, default: []]
    let index = rows.firstIndex { ($0.virtualTime, $0.job) > (virtualTime, job) } ?? rows.endIndex
    ready[lane, default: []].insert(row, at: index)
  }

  mutating func schedule(_ job: Int64, lane: Int16, at runAt: Time, _ tries: Tries, isCounted: Bool) {
    let index = scheduled.firstIndex { ($0.runAt, $0.job) > (runAt, job) } ?? scheduled.endIndex
    scheduled.insert(
      Scheduled(runAt: runAt, job: job, lane: lane, tries: tries, isCounted: isCounted), at: index)
  }

  /// Where so many new jobs of a user begin in a lane; later ones of the same user come behind them.
  ///
  /// - Parameters:
  ///   - tail: the last of these jobs; nil when there is none.
  ///   - later: how many more were submitted for later.
  mutating func takePlaces(
    _ count: Int, of user: Int64, lane: Int16, source: Int16, cost: Int64, tail: Int64?, later: Int = 0
  ) -> Int64 {
    applyFreed(user, source: source)
    let place = Place(user: user, lane: lane, source: source)
    let laneNow = clocks[lane]?.now ?? 0
    let before = shares[place]
    let first = max(before?.last ?? laneNow, laneNow)
    var share = before ?? Share(last: 0, tail: (laneNow + cost * Int64(count - 1), 0))
    if let tail, before.map({ $0.last <= laneNow || $0.last >= $0.tail.virtualTime }) ?? true {
      share.tail = (first + cost * Int64(count - 1), tail)
    }
    share.last = first + cost * Int64(count)
    share.later += later
    shares[place] = share
    return first
  }

  /// Takes off a user's places of a source what they gave up; of a single lane where one is named.
  mutating func applyFreed(_ user: Int64, source: Int16, lane: Int16? = nil) {
    for (place, given) in freed where place.user == user && place.source == source {
      guard lane == nil || place.lane == lane else { continue }
      if var share = shares[place] {
        share.last -= given.virtualTime
        share.later = max(0, share.later - given.later)
        shares[place] = share
      }
      freed[place] = nil
    }
  }

  private static func set<Value>(_ value: Value, from: Time, in list: inout [Dated<Value>]) {
    let index = list.firstIndex { $0.from >= from } ?? list.endIndex
    if index < list.endIndex, list[index].from == from {
      list[index].value = value
    } else {
      list.insert(Dated(from: from, value: value), at: index)
    }
  }

  private static func value<Value>(of list: [Dated<Value>], at time: Time) -> Value? {
    list.last { $0.from <= time }?.value
  }
}
