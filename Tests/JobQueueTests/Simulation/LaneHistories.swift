import AnalysisCore
import JobQueue
import Operations
import TestSupport
import Testing

@Suite("The schedule of lanes in seeded histories")
struct LaneHistories {
  private static let start = ContinuousClock.now

  /// Which lanes have jobs, as far as the schedule is concerned.
  private struct World {
    var filled: Set<Lane> = []
    var paused: Set<AnalysisKind> = []
    var suspectRuns = false
    var now = LaneHistories.start
    let kinds: [AnalysisKind]

    mutating func change(_ lanes: [Lane], using random: inout SeededGenerator) {
      now += .milliseconds(Int64.random(in: 0...40, using: &random))
      if Int.random(in: 0..<10, using: &random) == 0 {
        paused = Set(kinds.filter { _ in Int.random(in: 0..<4, using: &random) == 0 })
      }
      if Int.random(in: 0..<8, using: &random) == 0 { suspectRuns.toggle() }
      if let lane = lanes.randomElement(using: &random), Int.random(in: 0..<4, using: &random) == 0 {
        if filled.remove(lane) == nil { filled.insert(lane) }
      }
    }
  }

  @Test("urgent lanes are asked before normal ones and these before bulk, but for one claim in eight")
  func order() throws {
    try simulate(300) { random in
      let kinds = AnalysisKind.allCases.shuffled(using: &random)
      var schedule = LaneSchedule(kinds: kinds)
      let lanes = schedule.lanes
      var world = World(kinds: kinds)
      var claims = 0
      var bulkFirst = 0
      for _ in 0..<120 {
        world.change(lanes, using: &random)
        let count = Int.random(in: 0...20, using: &random)
        let asked = schedule.next(
          count: count, paused: world.paused, suspectInFlight: world.suspectRuns, now: world.now)
        try hold(count > 0 || asked.isEmpty, "a claim of no jobs asks nobody")
        try hold(Set(asked.map(\.lane)).count == asked.count, "a lane is asked once a claim")
        for (lane, limit) in asked {
          try hold(!world.paused.contains(lane.kind ?? .throat), "\(lane) is paused and was asked")
          try hold(limit == (lane.isForSuspects ? 1 : count), "\(lane) is asked for \(limit) of \(count)")
        }
        let suspects = asked.count { $0.lane.isForSuspects }
        try hold(suspects <= (world.suspectRuns ? 0 : 1), "\(suspects) suspects are asked for")
        if !asked.isEmpty {
          claims += 1
          let ranks = asked.map { $0.lane.priority.map { Int($0.slot) } ?? 3 }
          if ranks != ranks.sorted() { bulkFirst += 1 }
        }
        for (lane, _) in asked {
          if world.filled.contains(lane) {
            schedule.foundJobs(lane)
          } else {
            schedule.foundEmpty(lane, now: world.now)
          }
        }
      }
      try hold(bulkFirst <= claims / 8 + 1, "\(bulkFirst) of \(claims) claims began with bulk or suspects")
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
        world.suspectRuns = false
        let asked = schedule.next(count: 5, paused: [], suspectInFlight: false, now: world.now)
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
          guard world.filled.contains(lane), lane.priority != .normal || !urgentIsFull(world) else {
            waitsSince[lane] = nil
            continue
          }
          let since = waitsSince[lane] ?? claim
          waitsSince[lane] = since
          // A turn for bulk and suspects comes every eighth claim, and the kinds take turns at it.
          try hold(claim - since <= 40, "\(lane) has had jobs for \(claim - since) claims and none was taken")
        }
      }
    }
  }

  /// As long as urgent jobs fill every claim, normal ones wait: that is what urgent means.
  private func urgentIsFull(_ world: World) -> Bool {
    world.kinds.contains { world.filled.contains(Lane($0, .urgent)) }
  }

  @Test("an idle worker asks again within a second, and at once when it is woken up")
  func idle() throws {
    try simulate(500) { random in
      let rules = ClaimRules()
      let kinds = AnalysisKind.allCases.shuffled(using: &random)
      var schedule = LaneSchedule(kinds: kinds)
      var now = Self.start
      for _ in 0..<30 {
        let asked = schedule.next(count: 5, paused: [], suspectInFlight: false, now: now)
        for (lane, _) in asked { schedule.foundEmpty(lane, now: now) }
        let next = schedule.nextAsk(paused: [], now: now)
        try hold(next <= now + rules.idlePoll, "the next claim is \(next - now) away")
        if Bool.random(using: &random) {
          schedule.wakeUp()
          let again = schedule.next(count: 5, paused: [], suspectInFlight: true, now: now)
          try hold(again.count == kinds.count * 3, "after a wake-up \(again.count) lanes are asked")
        } else {
          now = max(now, next) + .milliseconds(Int64.random(in: 0...100, using: &random))
          let again = schedule.next(count: 5, paused: [], suspectInFlight: false, now: now)
          try hold(!again.isEmpty, "nothing is asked when the idle time is over")
          for (lane, _) in again { schedule.foundEmpty(lane, now: now) }
        }
      }
    }
  }
}
