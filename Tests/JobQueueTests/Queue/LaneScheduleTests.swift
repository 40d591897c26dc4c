import AnalysisCore
import JobQueue
import Testing

@Suite("The schedule of lanes")
struct LaneScheduleTests {
  let start = ContinuousClock.now

  private func names(_ lanes: [(lane: Lane, limit: Int)]) -> [String] {
    lanes.map { $0.lane.description }
  }

  @Test("puts urgent jobs first, then normal ones, then bulk, then suspects")
  func order() {
    var schedule = LaneSchedule(kinds: [.throat])
    let lanes = schedule.next(count: 10, paused: [], suspectInFlight: false, now: start)
    #expect(names(lanes) == ["throat/urgent", "throat/normal", "throat/bulk", "throat/suspect"])
    #expect(lanes.map(\.limit) == [10, 10, 10, 1])
  }

  @Test("begins one claim in eight with suspects and bulk")
  func bulkTurn() {
    var schedule = LaneSchedule(kinds: [.throat])
    let firsts = (0..<24).map { _ in
      names(schedule.next(count: 10, paused: [], suspectInFlight: false, now: start)).first ?? ""
    }
    #expect(firsts.filter { $0 == "throat/suspect" }.count == 3)
    #expect(firsts.filter { $0 == "throat/urgent" }.count == 21)
  }

  @Test("lets the kinds take turns, on bulk's turns as well")
  func kinds() {
    var schedule = LaneSchedule(kinds: [.throat, .ear])
    var firsts: [String: Int] = [:]
    for _ in 0..<32 {
      let lanes = schedule.next(count: 10, paused: [], suspectInFlight: true, now: start)
      firsts[lanes.first?.lane.description ?? "", default: 0] += 1
    }
    #expect(firsts == ["throat/urgent": 14, "ear/urgent": 14, "throat/bulk": 2, "ear/bulk": 2])
  }

  @Test("asks for one suspect at most, and for none while one runs")
  func suspects() {
    var schedule = LaneSchedule(kinds: [.throat, .ear])
    for _ in 0..<16 {
      let free = schedule.next(count: 10, paused: [], suspectInFlight: false, now: start)
      #expect(free.filter { $0.lane.isForSuspects }.map(\.limit) == [1])
      let busy = schedule.next(count: 10, paused: [], suspectInFlight: true, now: start)
      #expect(!busy.contains { $0.lane.isForSuspects })
    }
  }

  @Test("asks for the next suspect as soon as one has ended, also when all other lanes are empty")
  func suspectsOneAfterAnother() {
    var schedule = LaneSchedule(kinds: [.throat])
    for priority in Priority.allCases { schedule.foundEmpty(Lane(.throat, priority), now: start) }
    schedule.foundJobs(.suspects(of: .throat))
    let next = schedule.next(count: 10, paused: [], suspectInFlight: false, now: start)
    #expect(names(next) == ["throat/suspect"])
    #expect(schedule.next(count: 10, paused: [], suspectInFlight: true, now: start).isEmpty)
    schedule.foundEmpty(.suspects(of: .throat), now: start)
    #expect(schedule.next(count: 10, paused: [], suspectInFlight: false, now: start).isEmpty)
  }

  @Test("leaves out kinds that are paused")
  func paused() {
    var schedule = LaneSchedule(kinds: [.throat, .ear])
    for _ in 0..<16 {
      let lanes = schedule.next(count: 10, paused: [.ear], suspectInFlight: false, now: start)
      #expect(lanes.allSatisfy { $0.lane.kind == .throat })
    }
    #expect(schedule.next(count: 10, paused: [.ear, .throat], suspectInFlight: false, now: start).isEmpty)
  }

  @Test("asks nothing when nothing can be taken")
  func noRoom() {
    var schedule = LaneSchedule(kinds: [.throat])
    #expect(schedule.next(count: 0, paused: [], suspectInFlight: false, now: start).isEmpty)
  }

  @Test("leaves out a lane that was found empty for a short time", arguments: [(49, false), (50, true)])
  func empty(milliseconds: Int, asked: Bool) {
    var schedule = LaneSchedule(kinds: [.throat])
    schedule.foundEmpty(Lane(.throat, .urgent), now: start)
    let later = start + .milliseconds(milliseconds)
    let lanes = schedule.next(count: 1, paused: [], suspectInFlight: false, now: later)
    #expect(names(lanes).contains("throat/urgent") == asked)
    #expect(names(lanes).contains("throat/normal"))
  }

  @Test("waits a second when every lane was found empty, unless woken up")
  func idle() {
    var schedule = LaneSchedule(kinds: [.throat])
    for lane in schedule.lanes { schedule.foundEmpty(lane, now: start) }
    let almost = start + .milliseconds(999)
    #expect(schedule.next(count: 1, paused: [], suspectInFlight: false, now: almost).isEmpty)
    #expect(schedule.nextAsk(paused: [], now: almost) == start + .seconds(1))
    #expect(!schedule.next(count: 1, paused: [], suspectInFlight: false, now: start + .seconds(1)).isEmpty)
    schedule.wakeUp()
    #expect(schedule.next(count: 1, paused: [], suspectInFlight: false, now: almost).count == 4)
    #expect(schedule.nextAsk(paused: [], now: almost) == almost)
  }

  @Test("does not wait while one lane has jobs")
  func notIdle() {
    var schedule = LaneSchedule(kinds: [.throat])
    for lane in schedule.lanes { schedule.foundEmpty(lane, now: start) }
    schedule.foundJobs(Lane(.throat, .bulk))
    #expect(schedule.nextAsk(paused: [], now: start) == start)
  }
}
