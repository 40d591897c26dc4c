import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("The schedule of lanes in seeded histories")
struct LaneHistories {
  private static let start = ContinuousClock.now

  /// Which lanes have jobs, as far as the schedule is concerned.
  private struct World {
    var filled: Set<Lane> = []
    var paused: Set<AnalysisKind> = []
    var quarantineRuns = false
    var now = LaneHistories.start
    let kinds: [AnalysisKind]

    mutating func change(_ lanes: [Lane], using random: inout SeededGenerator) {
      now += .milliseconds(Int64.random(in: 0...40, using: &random))
      if Int.random(in: 0..<10, using: &random) == 0 {
        paused = Set(kinds.filter { _ in Int.random(in: 0..<4, using: &random) == 0 })
      }
      if Int.random(in: 0..<8, using: &random) == 0 { quarantineRuns.toggle() }
      if let lane = lanes.randomElement(using: &random), Int.random(in: 0..<4, using: &random) == 0 {
        if filled.remove(lane) == nil { filled.insert(lane) }
      }
    }
  }

  @Test(
    "behind the priority whose turn it is, urgent lanes are asked before normal ones and these before bulk")
  func order() throws {
    try simulate(300) { random in
      let kinds = AnalysisKind.allCases.shuffled(using: &random)
      var schedule = LaneSchedule(kinds: kinds)
      let lanes = schedule.lanes
      var world = World(kinds: kinds)
      for _ in 0..<120 {
        world.change(lanes, using: &random)
        let count = Int.random(in: 0...20, using: &random)
        let asked = schedule.next(
          count: count, paused: world.paused, quarantineInFlight: world.quarantineRuns, now: world.now)
        try hold(count > 0 || asked.isEmpty, "a claim of no jobs asks nobody")
        try hold(Set(asked.map(\.lane)).count == asked.count, "a lane is asked once a claim")
        for (lane, limit) in asked {
          try hold(!world.paused.contains(lane.kind ?? .throat), "\(lane) is paused and was asked")
          try hold(limit == (lane.isQuarantine ? 1 : count), "\(lane) is asked for \(limit) of \(count)")
        }
        let quarantine = asked.count { $0.lane.isQuarantine }
        try hold(quarantine <= (world.quarantineRuns ? 0 : 1), "\(quarantine) quarantined jobs are asked for")
        if let first = asked.first(where: { !$0.lane.isQuarantine })?.lane.priority {
          let others = asked.compactMap(\.lane.priority).filter { $0 != first }.map(\.slot)
          try hold(others == others.sorted(), "\(asked.map(\.lane)) is no order")
        }
        for (lane, _) in asked {
          if world.filled.contains(lane) {
            schedule.foundJobs(lane)
          } else {
            schedule.foundEmpty(lane, now: world.now)
          }
        }
      }
    }
  }

  @Test("no lane with jobs starves, however full the others are")
  func starvation() throws {
    try simulate(200) { random in
      let kinds = AnalysisKind.allCases.shuffled(using: &random)
      var schedule = LaneSchedule(kinds: kinds)
      let lanes = schedule.lanes
      var world = World(kinds: kinds)
      // Every lane that is not empty has more than any claim can take, so the first that is asked takes all.
      var waitsSince: [Lane: Int] = [:]
      for claim in 0..<300 {
        world.change(lanes, using: &random)
        world.paused = []
        world.quarantineRuns = false
        let asked = schedule.next(count: 5, paused: [], quarantineInFlight: false, now: world.now)
        var left = 5
        for (lane, limit) in asked where left > 0 {
          guard world.filled.contains(lane) else {
            schedule.foundEmpty(lane, now: world.now)
            continue
          }
          schedule.foundJobs(lane)
          left -= min(limit, left)
          waitsSince[lane] = nil
        }
        // Whoever queues something wakes the workers up, or the poll of the idle finds it.
        if asked.isEmpty { schedule.wakeUp() }
        for lane in lanes {
          guard world.filled.contains(lane) else {
            waitsSince[lane] = nil
            continue
          }
          let since = waitsSince[lane] ?? claim
          waitsSince[lane] = since
          // A turn for bulk and quarantined jobs comes every eighth claim, and the kinds take turns at it.
          try hold(claim - since <= 40, "\(lane) has had jobs for \(claim - since) claims and none was taken")
        }
      }
    }
  }

  @Test(
    "each priority that has jobs all the time begins at least its share of the claims, whatever the others do (I15)"
  )
  func shares() throws {
    try simulate(300) { random in
      let kinds = AnalysisKind.allCases.shuffled(using: &random)
      let numbers = Priority.allCases.map { _ in Int.random(in: 1...9, using: &random) }
      let shares = try #require(LaneShares(numbers.map(String.init).joined(separator: ",")))
      var schedule = LaneSchedule(kinds: kinds, rules: ClaimRules(shares: shares))
      var world = World(kinds: kinds)
      // These have more than any claim can take; the others come and go.
      let steady = Set(Priority.allCases.filter { _ in Bool.random(using: &random) } + [.bulk])
      let changing = schedule.lanes.filter { $0.priority.map { !steady.contains($0) } ?? true }
      for kind in kinds { for priority in steady { world.filled.insert(Lane(kind, priority)) } }
      var taken: [Priority: Int] = [:]
      let round = numbers.reduce(0, +)
      for _ in 0..<(10 * round) {
        world.change(changing, using: &random)
        let asked = schedule.next(count: 5, paused: [], quarantineInFlight: true, now: world.now)
        var isFull = false
        for (lane, _) in asked where !isFull {
          guard world.filled.contains(lane) else {
            schedule.foundEmpty(lane, now: world.now)
            continue
          }
          schedule.foundJobs(lane)
          isFull = true
          if let priority = lane.priority { taken[priority, default: 0] += 1 }
        }
        try hold(isFull, "a claim took nothing")
      }
      for (priority, share) in zip(Priority.allCases, numbers) where steady.contains(priority) {
        try hold(
          taken[priority, default: 0] >= 10 * share,
          "\(priority) had \(taken[priority, default: 0]) of \(10 * round) claims with a share of \(shares)")
      }
    }
  }

  @Test("an idle worker asks nothing until it is woken up, and then everything")
  func idle() throws {
    try simulate(500) { random in
      let kinds = AnalysisKind.allCases.shuffled(using: &random)
      var schedule = LaneSchedule(kinds: kinds)
      var now = Self.start
      for _ in 0..<30 {
        let asked = schedule.next(count: 5, paused: [], quarantineInFlight: false, now: now)
        for (lane, _) in asked { schedule.foundEmpty(lane, now: now) }
        now += .milliseconds(Int64.random(in: 0...3000, using: &random))
        for priority in Priority.allCases {
          for kind in kinds { schedule.foundEmpty(Lane(kind, priority), now: now) }
        }
        try hold(schedule.isIdle(quarantineInFlight: false), "a worker that found nothing is not idle")
        try hold(
          schedule.next(count: 5, paused: [], quarantineInFlight: false, now: now).isEmpty,
          "an idle worker asks"
        )
        schedule.wakeUp()
        let again = schedule.next(count: 5, paused: [], quarantineInFlight: true, now: now)
        try hold(again.count == kinds.count * 3, "after a wake-up \(again.count) lanes are asked")
      }
    }
  }
}
