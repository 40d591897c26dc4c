import TestSupport
import Testing

@testable import Queue
@testable import Support

@Suite("The scan mark in seeded histories")
struct ScanMarkHistories {
  /// A lane of which one worker sees the rows that are committed, and others take some.
  private struct LaneOfJobs {
    /// When each virtual time became visible; all are at or above the published mark at that moment.
    var visible: [Int64: ContinuousClock.Instant] = [:]
    var published: Int64 = 0
    var now = ContinuousClock.now

    mutating func submit(around mark: Int64, using random: inout SeededGenerator) {
      visible[max(published, mark - 3000) + Int64.random(in: 0...9000, using: &random)] = now
    }

    /// What a claim from here takes.
    mutating func claim(from: Int64, limit: Int) -> [Int64] {
      let taken = visible.keys.filter { $0 >= from }.sorted().prefix(limit)
      for time in taken { visible[time] = nil }
      return Array(taken)
    }

    /// The marks of all workers are published, as far as nothing visible lies below.
    mutating func publish(_ mark: Int64) {
      published = max(published, min(mark, visible.keys.min() ?? mark))
    }
  }

  @Test("no visible row is stepped over for longer than 250 ms")
  func stepsOver() throws {
    try simulate(300) { random in
      var lane = LaneOfJobs()
      var mark = ScanMark(now: lane.now)
      // The last moment at which a claim began at or below each row that still waits.
      var reachable: [Int64: ContinuousClock.Instant] = [:]
      for _ in 0..<100 {
        lane.now += .milliseconds(Int64.random(in: 1...60, using: &random))
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          lane.submit(around: mark.furthest, using: &random)
        }
        if Int.random(in: 0..<12, using: &random) == 0 { mark.wakeUp() }
        if Int.random(in: 0..<20, using: &random) == 0 {
          lane.publish(mark.furthest)
          mark.published(lane.published)
        }
        let from = mark.start(now: lane.now)
        try hold(from >= 0, "a claim begins at \(from)")
        for (time, since) in lane.visible where time < from {
          let last = max(since, reachable[time] ?? since)
          try hold(
            lane.now - last <= .milliseconds(250), "the row at \(time) is stepped over for \(lane.now - last)"
          )
        }
        for time in lane.visible.keys where time >= from { reachable[time] = lane.now }
        let limit = Int.random(in: 1...5, using: &random)
        let taken = lane.claim(from: from, limit: limit)
        mark.claimed(from: from, last: taken.last, short: taken.count < limit)
      }
    }
  }

  @Test("once a sweep has lowered the published mark, claims find what was committed below every mark")
  func sweeps() throws {
    try simulate(500) { random in
      var lane = LaneOfJobs()
      lane.published = 100_000
      var mark = ScanMark(now: lane.now)
      mark.published(lane.published)
      for _ in 0..<20 { lane.submit(around: 100_000, using: &random) }
      mark.claimed(
        from: mark.start(now: lane.now), last: lane.claim(from: 100_000, limit: 3).last, short: false)
      let late = (0..<Int.random(in: 1...30, using: &random)).map { _ in
        Int64.random(in: 0..<100_000, using: &random)
      }
      for time in late { lane.visible[time] = lane.now }
      mark.published(late.min() ?? 0)
      var claims = 0
      while lane.visible.keys.contains(where: { $0 < 100_000 }) {
        lane.now += .milliseconds(5)
        let from = mark.start(now: lane.now)
        let limit = Int.random(in: 1...5, using: &random)
        let taken = lane.claim(from: from, limit: limit)
        mark.claimed(from: from, last: taken.last, short: taken.count < limit)
        claims += 1
        try hold(claims <= late.count, "\(claims) claims did not find \(late.count) late jobs")
      }
    }
  }
}
