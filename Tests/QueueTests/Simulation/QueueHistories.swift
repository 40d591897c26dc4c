import TestSupport
import Testing

@testable import Support

@Suite("The queue's rules in seeded histories")
struct QueueHistories {
  /// The model with a fleet at work.
  struct History {
    var model: QueueModel
    var fleet: Fleet
    var observer = QueueObserver()
    /// How often each kind of answer was given.
    private(set) var answers: [String: Int] = [:]
    private var lastNumber: Int64 = 0

    init(_ months: [Months], using random: inout SeededGenerator) {
      fleet = Fleet(months, using: &random)
      model = QueueModel.start(fleet, using: &random)
      for (number, member) in fleet.members.enumerated() {
        model.addUser(Int64(number + 1), member.reference, plan: member.plan, months: member.months)
      }
    }

    @discardableResult
    mutating func apply(
      _ operation: QueueOperation, using random: inout SeededGenerator
    ) throws -> QueueOutcome {
      var numbers: [Int64] = []
      if case .submit(let asks, _) = operation {
        numbers = asks.indices.map { lastNumber + Int64($0) + 1 }
        lastNumber += Int64(asks.count)
      }
      let outcome = model.apply(operation, numbers: numbers) { _, longest in
        .random(in: longest / 2...longest, using: &random)
      }
      try observer.see(operation, outcome, at: model.now)
      fleet.learn(operation, outcome)
      for kind in outcome.kinds(of: operation) { answers[kind, default: 0] += 1 }
      return outcome
    }
  }

  @Test("whatever workers do, every job ends once, is counted once, and only by who holds its lease")
  func histories() async throws {
    let months = try await Fleet.months()
    var answers: [String: Int] = [:]
    try simulate(1300) { random in
      var history = History(months, using: &random)
      for _ in 0..<60 {
        let operation = history.fleet.next(at: history.model.now, using: &random)
        try history.apply(operation, using: &random)
      }
      try history.model.check()
      try drain(&history, using: &random)
      try history.model.check()
      answers.merge(history.answers, uniquingKeysWith: +)
    }
    guard try SimulationSeeds.chosen() == nil else { return }
    // A rule that no history comes near is not tested.
    for kind in Self.kinds { #expect(answers[kind, default: 0] >= 20, "\(kind)") }
  }

  private static let kinds = [
    "created", "duplicate", "quota", "key_conflict", "expired", "no_partition", "unknown_user",
    "bad_argument",
    "waiting_limit", "claimed", "claimed alone", "claimed expired", "stored", "stale", "released",
    "failed: retried", "failed: dead", "failed: stale", "cancel: cancelled", "cancel: finished",
    "cancel: dead",
    "cancel: unknown", "retry: requeued", "retry: quota", "retry: not_dead", "uncancel: requeued",
    "uncancel: quota",
    "uncancel: not_cancelled", "uncancel: too_late", "uncancel: busy", "uncancel: unknown", "rescued",
    "rescued dead",
    "promoted", "refunds applied", "mark published", "kept alive",
  ]

  /// The faults stop: everything that was accepted ends within a few rounds.
  private func drain(_ history: inout History, using random: inout SeededGenerator) throws {
    var rounds = 0
    while !history.model.open.isEmpty {
      rounds += 1
      try hold(rounds < 40, "I1: \(history.model.open) did not end")
      try history.apply(history.fleet.wait(for: history.model), using: &random)
      for operation in history.fleet.upkeep { try history.apply(operation, using: &random) }
      while case .claimed(let jobs) = try history.apply(history.fleet.claimAll(), using: &random),
        !jobs.isEmpty
      {
        try history.apply(history.fleet.completeAll(jobs), using: &random)
      }
    }
    try history.apply(.applyRefunds(limit: 1000), using: &random)
    let used = history.model.usage.values.reduce(0) { $0 + $1.used }
    try hold(
      used == history.observer.units, "I4: \(used) units are used, \(history.observer.units) were answered")
  }
}
