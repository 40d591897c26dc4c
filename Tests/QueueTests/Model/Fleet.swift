import QueueTestSupport

@testable import Queue
@testable import Support

/// Who works at a queue in a history: back-ends that submit and repeat, workers that crash, stall, come late
/// or finish twice, operators who cancel and retry. It draws what happens next; the queue's answers are all it
/// knows.
struct Fleet {
  typealias Time = QueueModel.Time

  struct Member {
    let reference: String
    let plan: String
    /// From the beginning on.
    let months: Months
    /// On which day they end; nil for those of the calendar.
    let anchor: Int?
  }

  /// What a worker once claimed. It is remembered for ever: a worker may come back with it at any time.
  struct Memory {
    let worker: Int64
    let lease: Int64
    let jobs: [Int64]
  }

  static let leaseDuration: Time = 15_000
  static let lanes: [Int16] = Array(4...11)
  static let zones = [
    "UTC", "Asia/Jakarta", "America/New_York", "Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago",
    "Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe", "America/Santiago",
  ]
  static let plans = ["free", "premium", "clinic"]

  let members: [Member]
  private let mood: FleetMood
  private let workers: Int64
  private var ids: LeaseIDs
  private var memories: [Memory] = []
  private var known: [Int64] = []
  private var dead: [Int64] = []
  private var cancelled: [Int64] = []
  private var furthest: [Int16: Int64] = [:]
  private var scanFrom: [Int16: Int64] = [:]

  /// The months of the zones in which users may be, found once.
  static func months() async throws -> [Months] { try await known.value }

  private static let known = Task {
    let months = try await ZoneFiles(of: zones).months()
    return zones.compactMap { months[$0] }
  }

  /// A fleet.
  ///
  /// - Parameter months: Those of the zones in which its users may be.
  init(_ months: [Months], using random: inout SeededGenerator) {
    ids = LeaseIDs(using: &random)
    mood = FleetMood.allCases.randomElement(using: &random) ?? .usual
    workers = Int64.random(in: 1...4, using: &random)
    members = (0..<Int.random(in: 1...4, using: &random)).map { number in
      let anchor = Bool.random(using: &random) ? Months.days.randomElement(using: &random) : nil
      let months = months[Int.random(in: 0..<months.count, using: &random)]
      return Member(
        reference: "user-\(number)", plan: Self.plans[Int.random(in: 0..<3, using: &random)],
        months: anchor.map { months.ending(on: $0) } ?? months, anchor: anchor)
    }
  }

  /// Draws what happens next.
  mutating func next(at now: Time, using random: inout SeededGenerator) -> QueueOperation {
    switch mood.next(using: &random) {
    case .submit: submit(at: now, using: &random)
    case .claim: claim(using: &random)
    case .complete: complete(using: &random)
    case .fail: fail(using: &random)
    case .release: release(using: &random)
    case .heartbeat: heartbeat(using: &random)
    case .cancel: .cancel(someJobs(using: &random))
    case .retryDead: .retryDead(someJobs(using: &random) + dead.suffix(Int.random(in: 0...4, using: &random)))
    case .uncancel:
      .uncancel(someJobs(using: &random) + cancelled.suffix(Int.random(in: 0...4, using: &random)))
    case .rescue: .rescue
    case .promote: .promote(limit: Int.random(in: 1...20, using: &random))
    case .applyRefunds: .applyRefunds(limit: Int.random(in: 1...3, using: &random))
    case .tick: .tick(furthest)
    case .sweep: .sweep
    case .changePlan: changePlan(at: now, using: &random)
    case .advance: .advance(step(using: &random))
    }
  }

  /// Takes note of an answer.
  mutating func learn(_ operation: QueueOperation, _ outcome: QueueOutcome) {
    switch (operation, outcome) {
    case (.submit, .answers(let answers)): known += answers.compactMap(\.job)
    case (.claim(let worker, _, _, _, _), .claimed(let jobs)):
      for (lease, held) in Dictionary(grouping: jobs, by: \.lease).sorted(by: { $0.key < $1.key }) {
        memories.append(Memory(worker: worker, lease: lease, jobs: held.map(\.job)))
      }
      for job in jobs { furthest[job.lane] = max(furthest[job.lane] ?? 0, job.virtualTime) }
    case (.fail, .verdicts(let verdicts)):
      dead += verdicts.filter { $0.value == "dead" }.keys.sorted()
    case (.cancel, .verdicts(let verdicts)):
      cancelled += verdicts.filter { $0.value == "cancelled" }.keys.sorted()
    case (.tick, .marks(let marks)): scanFrom.merge(marks) { $1 }
    default: break
    }
  }

  // MARK: Draining, once the faults have stopped

  /// Lets the time pass after which something can be done: every lease, or up to the next scheduled job.
  func wait(for queue: QueueModel) -> QueueOperation {
    .advance(max(Self.leaseDuration + 1, (queue.scheduled.first?.runAt ?? 0) - queue.now))
  }

  var upkeep: [QueueOperation] { [.rescue, .promote(limit: 1000)] }

  /// Claims from every lane, from zero.
  mutating func claimAll() -> QueueOperation {
    let asks = Self.lanes.map { QueueModel.LaneAsk(lane: $0, from: 0, limit: 100) }
    return .claim(
      worker: 1, firstLease: ids.take(asks.count), asks, count: 100, leaseDuration: Self.leaseDuration)
  }

  func completeAll(_ jobs: [Claimed]) -> QueueOperation {
    .complete(worker: 1, leases: jobs.map(\.lease), jobs.map(\.job))
  }

  // MARK: Parts

  private func submit(at now: Time, using random: inout SeededGenerator) -> QueueOperation {
    let count = Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 2...8, using: &random) : 1
    let asks = (0..<count).map { _ in ask(at: now, using: &random) }
    return .submit(asks, maxAttempts: Int16.random(in: 1...(mood == .crashing ? 2 : 4), using: &random))
  }

  private func ask(at now: Time, using random: inout SeededGenerator) -> Ask {
    let member = members[Int.random(in: members.indices, using: &random)]
    var ask = Ask(
      member.reference, kind: Int16.random(in: 1...2, using: &random),
      priority: Int16.random(in: 0...2, using: &random),
      image: "photo \(Int.random(in: 0...1, using: &random))")
    if Bool.random(using: &random) { ask.key = "key \(Int.random(in: 0...9, using: &random))" }
    switch Int.random(in: 0..<(mood == .wavering ? 9 : 20), using: &random) {
    case 0..<3: ask.at = seconds(now + Time.random(in: -60_000...7_200_000, using: &random))
    case 3..<6:
      // About the next month's beginning, to the millisecond.
      let border = member.months.start(of: member.months.label(at: now) + 1)
      ask.at = seconds(border + Time.random(in: -2...2, using: &random))
    case 6: ask.at = seconds(now + 400 * 86_400_000)
    case 7: ask.user = "nobody"
    case 8 where Bool.random(using: &random): ask.priority = 3
    default: break
    }
    if Int.random(in: 0..<5, using: &random) == 0 {
      // Ahead by one of the steps that time takes, so that some are claimed in the very instant.
      let isPast = Int.random(in: 0..<4, using: &random) == 0
      ask.expires = seconds(
        now
          + (isPast
            ? -1 : [1000, Self.leaseDuration, step(using: &random)].randomElement(using: &random) ?? 0))
    }
    return ask
  }

  private func seconds(_ time: Time) -> Double { Double(time) / 1000 }

  private mutating func claim(using random: inout SeededGenerator) -> QueueOperation {
    let lanes = Self.lanes.shuffled(using: &random).prefix(Int.random(in: 1...8, using: &random))
    let asks = lanes.map { lane in
      let from = [0, 0, scanFrom[lane] ?? 0, furthest[lane] ?? 0][Int.random(in: 0..<4, using: &random)]
      return QueueModel.LaneAsk(lane: lane, from: from, limit: Int.random(in: 0...5, using: &random))
    }
    return .claim(
      worker: someWorker(using: &random), firstLease: ids.take(asks.count), asks,
      count: Int.random(in: 1...8, using: &random), leaseDuration: Self.leaseDuration)
  }

  private func complete(using random: inout SeededGenerator) -> QueueOperation {
    let (worker, leases, jobs) = outcome(using: &random)
    return .complete(worker: worker, leases: leases, jobs)
  }

  private func fail(using random: inout SeededGenerator) -> QueueOperation {
    let (worker, leases, jobs) = outcome(using: &random)
    let delay: Time? =
      switch Int.random(in: 0..<6, using: &random) {
      case 0: nil
      case 1, 2: 0
      default: Time.random(in: 1...20_000, using: &random)
      }
    return .fail(
      worker: worker, leases: leases, jobs, delay: delay, consumes: Int.random(in: 0..<3, using: &random) > 0,
      failureClass: ["server", "overload", "permanent"][Int.random(in: 0..<3, using: &random)])
  }

  private func release(using random: inout SeededGenerator) -> QueueOperation {
    let (worker, leases, jobs) = outcome(using: &random)
    let delay = Bool.random(using: &random) ? 0 : Time.random(in: 1...10_000, using: &random)
    return .release(worker: worker, leases: leases, jobs, delay: delay)
  }

  private func heartbeat(using random: inout SeededGenerator) -> QueueOperation {
    let worker = someWorker(using: &random)
    // Mostly a worker's own, now and then also another's.
    let all = Int.random(in: 0..<5, using: &random) == 0
    let leases = memories.filter { all || $0.worker == worker }.suffix(6).map(\.lease)
    return .heartbeat(worker: worker, Array(leases), leaseDuration: Self.leaseDuration)
  }

  /// Jobs that somebody once claimed, as somebody says it: mostly the last ones, whole, under the right name, each with
  /// its own lease.
  private func outcome(
    using random: inout SeededGenerator
  ) -> (worker: Int64, leases: [Int64], jobs: [Int64]) {
    var chosen: [Memory] = []
    for _ in 0..<Int.random(in: 1...2, using: &random) where !memories.isEmpty {
      let isLate = Int.random(in: 0..<4, using: &random) == 0
      chosen.append(
        memories[
          Int.random(
            in: isLate ? 0..<memories.count : max(0, memories.count - 4)..<memories.count, using: &random)])
    }
    let isForeign = Int.random(in: 0..<12, using: &random) == 0
    let worker = isForeign ? someWorker(using: &random) : chosen.first?.worker ?? 1
    var named = chosen.flatMap { memory in memory.jobs.map { (lease: memory.lease, job: $0) } }
      .filter { _ in Int.random(in: 0..<5, using: &random) > 0 }
    if Int.random(in: 0..<10, using: &random) == 0, let lease = chosen.first?.lease {
      named = named.map { (lease, $0.job) }
    }
    if Int.random(in: 0..<8, using: &random) == 0 { named += named.prefix(1) }
    return (worker, named.map(\.lease), named.map(\.job))
  }

  private func changePlan(at now: Time, using random: inout SeededGenerator) -> QueueOperation {
    if Int.random(in: 0..<3, using: &random) == 0 {
      let member = members[Int.random(in: members.indices, using: &random)]
      let from = member.months.label(at: now) + Int16.random(in: -1...3, using: &random)
      return .setAnchor(
        user: member.reference, Months.days[Int.random(in: Months.days.indices, using: &random)],
        from: Bool.random(using: &random) ? from : nil)
    }
    let from = now + [0, 1, 60_000, -86_400_000, 86_400_000][Int.random(in: 0..<5, using: &random)]
    let plan = Self.plans[Int.random(in: 0..<3, using: &random)]
    if Bool.random(using: &random) {
      return .setPlan(
        user: members[Int.random(in: members.indices, using: &random)].reference, plan, from: from)
    }
    let limit: Int? =
      Int.random(in: 0..<3, using: &random) == 0 ? nil : Int.random(in: 0...12, using: &random)
    return .setLimit(plan: plan, limit, from: from)
  }

  private func someJobs(using random: inout SeededGenerator) -> [Int64] {
    // Where jobs come and go in masses, mostly the latest ones go.
    if mood == .wavering, Bool.random(using: &random) {
      return Array(known.suffix(Int.random(in: 4...12, using: &random)))
    }
    var jobs = (0..<Int.random(in: 1...4, using: &random)).compactMap { _ in
      known.randomElement(using: &random)
    }
    if Int.random(in: 0..<10, using: &random) == 0 { jobs.append(9_000_000_000) }
    return jobs
  }

  private func someWorker(using random: inout SeededGenerator) -> Int64 {
    Int64.random(in: 1...workers, using: &random)
  }

  /// From the same instant to days: so that leases lapse, delays pass and months end.
  private func step(using random: inout SeededGenerator) -> Time {
    if mood == .crashing, Bool.random(using: &random) { return Self.leaseDuration + 1 }
    return switch Int.random(in: 0..<12, using: &random) {
    case 0: 1
    case 1, 2: 1000
    case 3, 4: Time.random(in: 1...5000, using: &random)
    case 5, 6: Self.leaseDuration
    case 7, 8: Self.leaseDuration + 1
    case 9: 60_000
    case 10: Time.random(in: 60_000...7_200_000, using: &random)
    default: Time.random(in: 7_200_000...200_000_000, using: &random)
    }
  }
}
