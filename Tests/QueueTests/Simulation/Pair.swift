import PostgreSQL
import QueueTestSupport
import TestSupport

/// A queue in the database and its model, which do the same.
struct Pair {
  let queue: QueueFixture
  var model: QueueModel
  var fleet: Fleet
  private var observer = QueueObserver()
  private var done: [String] = []

  init(queue: QueueFixture, model: QueueModel, fleet: Fleet) {
    self.queue = queue
    self.model = model
    self.fleet = fleet
  }

  /// Sets the clock and the limits, and adds the users.
  mutating func prepare() async throws {
    try await queue.setClock(model.now)
    if let most = model.maxWaitingPerUser {
      try await queue.execute(
        "UPDATE analysis.setting SET value = '\(most)' WHERE name = 'max_waiting_per_user'")
    }
    for member in fleet.members {
      try await queue.addUser(
        member.reference, plan: member.plan, zone: member.months.zone, anchor: member.anchor)
      let number = try await queue.number(
        "SELECT user_id FROM analysis.account WHERE user_ref = $1", [.text(member.reference)])
      model.addUser(Int64(number), member.reference, plan: member.plan, months: member.months)
    }
  }

  /// Has both do an operation, and compares the answers.
  @discardableResult
  mutating func apply(_ operation: QueueOperation) async throws -> QueueOutcome {
    done.append("\(operation)")
    let answer = try await queue.apply(operation, at: model.now)
    var numbers: [Int64] = []
    // What is refused has a number too, which nobody gets to see.
    if case .answers(let answers) = answer {
      numbers = answers.enumerated().map { $1.outcome == "created" ? $1.job ?? 0 : -1 - Int64($0) }
    }
    let delays =
      if case .rescued(let rescued) = answer, rescued.requeued > 0 { try await queue.delays() } else {
        [Int64: QueueModel.Time]()
      }
    let expected = try model.apply(operation, numbers: numbers) { job, longest in
      guard let delay = delays[job] else { throw BrokenRule("job \(job) was lost alone and is not delayed") }
      try hold((longest / 2...longest).contains(delay), "job \(job) is delayed by \(delay) of \(longest) ms")
      return delay
    }
    if answer != expected {
      throw BrokenRule("\(operation)\nthe database answers \(answer)\nthe model answers    \(expected)")
    }
    try observer.see(operation, answer, at: model.now)
    fleet.learn(operation, answer)
    // Of a single history every step is looked at, so that the first that differs is found.
    if try SimulationSeeds.chosen() != nil { try await compare() }
    return answer
  }

  /// Compares everything.
  func compare() async throws {
    try model.check()
    let (stored, expected) = (try await queue.lines(), model.lines)
    guard stored != expected else { return }
    throw BrokenRule(
      """
      only in the database: \(stored.subtracting(expected).sorted())
      only in the model:    \(expected.subtracting(stored).sorted())
      after \(done.suffix(8).joined(separator: "\n"))
      """)
  }

  /// Brings every job to its end, without further faults.
  mutating func drain() async throws {
    var rounds = 0
    while !model.open.isEmpty {
      rounds += 1
      try hold(rounds < 40, "I1: \(model.open) did not end")
      try await apply(fleet.wait(for: model))
      for operation in fleet.upkeep { try await apply(operation) }
      while case .claimed(let jobs) = try await apply(fleet.claimAll()), !jobs.isEmpty {
        try await apply(fleet.completeAll(jobs))
      }
    }
    try await apply(.applyRefunds(limit: 1000))
    let used = model.usage.values.reduce(0) { $0 + $1.used }
    try hold(used == observer.units, "I4: \(used) units are used, \(observer.units) were answered")
  }
}
