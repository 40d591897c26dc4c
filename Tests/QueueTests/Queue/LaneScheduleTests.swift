import Testing

@testable import Queue
@testable import Support

@Suite("The schedule of lanes")
struct LaneScheduleTests {
  let start = ContinuousClock.now

  private func names(_ lanes: [(lane: Lane, limit: Int)]) -> [String] {
    lanes.map { $0.lane.description }
  }

  @Test("puts urgent jobs first, then normal ones, then bulk, then quarantined jobs")
  func order() {
    var schedule = LaneSchedule(kinds: [.throat])
    let lanes = schedule.next(count: 10, paused: [], quarantineInFlight: false, now: start)
    #expect(names(lanes) == ["throat/urgent", "throat/normal", "throat/bulk", "throat/quarantine"])
    #expect(lanes.map(\.limit) == [10, 10, 10, 1])
  }

  /// What the first claims of a schedule begin with while every lane has jobs.
  private func firsts(_ schedule: inout LaneSchedule, _ claims: Int) -> [Priority?] {
    (0..<claims).map { _ in
      schedule.next(count: 10, paused: [], quarantineInFlight: true, now: start).first?.lane.priority
    }
  }

  @Test(
    "begins five of eight claims with urgent jobs, two with normal ones and one with bulk, spread over the eight"
  )
  func shares() {
    var schedule = LaneSchedule(kinds: [.throat])
    let round: [Priority?] = [.urgent, .normal, .urgent, .urgent, .bulk, .urgent, .normal, .urgent]
    #expect(firsts(&schedule, 24) == round + round + round)
  }

  @Test("follows other shares from the next claim on")
  func otherShares() throws {
    var schedule = LaneSchedule(kinds: [.throat])
    _ = firsts(&schedule, 3)
    schedule.shares = try #require(LaneShares("1,1,2"))
    #expect(firsts(&schedule, 8) == [.bulk, .urgent, .normal, .bulk, .bulk, .urgent, .normal, .bulk])
  }

  @Test(
    "reads shares as the database keeps them",
    arguments: [
      ("5,2,1", true), ("99,1,99", true), ("0,2,1", false), ("5,2", false), ("5,2,1,1", false),
      ("5,2,", false),
      ("100,2,1", false), ("05,2,1", false), ("5, 2, 1", false), ("-5,2,1", false), ("", false),
    ])
  func text(text: String, isAccepted: Bool) {
    #expect(LaneShares(text)?.description == (isAccepted ? text : nil))
  }

  @Test("gives what a priority does not use to the others, the most urgent first")
  func unused() {
    var schedule = LaneSchedule(kinds: [.throat])
    let firsts = (0..<8).map { _ in
      schedule.foundEmpty(Lane(.throat, .normal), now: start)
      return names(schedule.next(count: 10, paused: [], quarantineInFlight: true, now: start))
    }
    #expect(firsts.count { $0 == ["throat/urgent", "throat/bulk"] } == 7)
    #expect(firsts.count { $0 == ["throat/bulk", "throat/urgent"] } == 1)
  }

  @Test("begins bulk's turns with quarantined jobs")
  func bulkTurn() {
    var schedule = LaneSchedule(kinds: [.throat])
    let orders = (0..<24).map { _ in
      names(schedule.next(count: 10, paused: [], quarantineInFlight: false, now: start))
    }
    let bulk = ["throat/quarantine", "throat/bulk", "throat/urgent", "throat/normal"]
    #expect(orders.count { $0 == bulk } == 3)
    #expect(orders.count { $0.last == "throat/quarantine" } == 21)
  }

  @Test("lets the kinds take turns, on each priority's turns")
  func kinds() {
    var schedule = LaneSchedule(kinds: [.throat, .ear])
    var firsts: [String: Int] = [:]
    for _ in 0..<32 {
      let lanes = schedule.next(count: 10, paused: [], quarantineInFlight: true, now: start)
      firsts[lanes.first?.lane.description ?? "", default: 0] += 1
    }
    #expect(
      firsts == [
        "throat/urgent": 10, "ear/urgent": 10, "throat/normal": 4, "ear/normal": 4, "throat/bulk": 2,
        "ear/bulk": 2,
      ])
  }

  @Test("asks for one quarantined job at most, and for none while one runs")
  func quarantine() {
    var schedule = LaneSchedule(kinds: [.throat, .ear])
    for _ in 0..<16 {
      let free = schedule.next(count: 10, paused: [], quarantineInFlight: false, now: start)
      #expect(free.filter { $0.lane.isQuarantine }.map(\.limit) == [1])
      let busy = schedule.next(count: 10, paused: [], quarantineInFlight: true, now: start)
      #expect(!busy.contains { $0.lane.isQuarantine })
    }
  }

  @Test("asks for the next quarantined job as soon as one has ended, also when all other lanes are empty")
  func quarantinedOneAfterAnother() {
    var schedule = LaneSchedule(kinds: [.throat])
    for priority in Priority.allCases { schedule.foundEmpty(Lane(.throat, priority), now: start) }
    schedule.foundJobs(.quarantine(of: .throat))
    let next = schedule.next(count: 10, paused: [], quarantineInFlight: false, now: start)
    #expect(names(next) == ["throat/quarantine"])
    #expect(schedule.next(count: 10, paused: [], quarantineInFlight: true, now: start).isEmpty)
    schedule.foundEmpty(.quarantine(of: .throat), now: start)
    #expect(schedule.next(count: 10, paused: [], quarantineInFlight: false, now: start).isEmpty)
  }

  @Test("leaves out kinds that are paused")
  func paused() {
    var schedule = LaneSchedule(kinds: [.throat, .ear])
    for _ in 0..<16 {
      let lanes = schedule.next(count: 10, paused: [.ear], quarantineInFlight: false, now: start)
      #expect(lanes.allSatisfy { $0.lane.kind == .throat })
    }
    #expect(schedule.next(count: 10, paused: [.ear, .throat], quarantineInFlight: false, now: start).isEmpty)
  }

  @Test("asks nothing when nothing can be taken")
  func noRoom() {
    var schedule = LaneSchedule(kinds: [.throat])
    #expect(schedule.next(count: 0, paused: [], quarantineInFlight: false, now: start).isEmpty)
  }

  @Test("leaves out a lane that was found empty for a short time", arguments: [(49, false), (50, true)])
  func empty(milliseconds: Int, asked: Bool) {
    var schedule = LaneSchedule(kinds: [.throat])
    schedule.foundEmpty(Lane(.throat, .urgent), now: start)
    let later = start + .milliseconds(milliseconds)
    let lanes = schedule.next(count: 1, paused: [], quarantineInFlight: false, now: later)
    #expect(names(lanes).contains("throat/urgent") == asked)
    #expect(names(lanes).contains("throat/normal"))
  }

  @Test("asks nothing once every lane was found empty, until it is woken up")
  func idle() {
    var schedule = LaneSchedule(kinds: [.throat])
    for lane in schedule.lanes { schedule.foundEmpty(lane, now: start) }
    let later = start + .seconds(3600)
    #expect(schedule.isIdle(quarantineInFlight: false))
    #expect(schedule.next(count: 1, paused: [], quarantineInFlight: false, now: later).isEmpty)
    schedule.wakeUp()
    #expect(!schedule.isIdle(quarantineInFlight: false))
    #expect(schedule.next(count: 1, paused: [], quarantineInFlight: false, now: start).count == 4)
  }

  @Test("is not idle while one lane has jobs")
  func notIdle() {
    var schedule = LaneSchedule(kinds: [.throat])
    for lane in schedule.lanes { schedule.foundEmpty(lane, now: start) }
    schedule.foundJobs(Lane(.throat, .bulk))
    #expect(!schedule.isIdle(quarantineInFlight: false))
    #expect(schedule.isIdle(paused: [.throat], quarantineInFlight: false))
  }
}
