import Testing

@testable import BenchmarkDay

@Suite("A day")
struct DaySimulationTests {
  private static func day(
    _ jobs: Int, seed: UInt64 = 1, log: Double = 1e9, workers: Int? = nil
  ) -> DaySimulation {
    var machine = SampleDay.machine
    machine.logBytesPerSecond = log
    var fleet = SampleDay.fleet
    fleet.workers = workers
    return DaySimulation(
      Arrivals(jobs: jobs, seed: seed), costs: SampleDay.costs, machine: machine, fleet: fleet)
  }

  @Test("has exactly its jobs, spread alike by the same seed", arguments: [0, 1, 999, 100_000_000])
  func arrivals(_ jobs: Int) {
    let arrivals = Arrivals(jobs: jobs, seed: 7)
    #expect(arrivals.jobs.count == 1440)
    #expect(arrivals.jobs.reduce(0, +) == jobs)
    #expect(arrivals.jobs.allSatisfy { $0 >= 0 })
    #expect(arrivals == Arrivals(jobs: jobs, seed: 7))
    if jobs > 1 { #expect(arrivals != Arrivals(jobs: jobs, seed: 8)) }
  }

  @Test("has two peaks, and a batch customer's hour", arguments: [1, 2, 3] as [UInt64])
  func shape(_ seed: UInt64) {
    let arrivals = Arrivals(jobs: 10_000_000, seed: seed)
    func mean(_ minutes: Range<Int>) -> Int {
      let own = minutes.filter { !(arrivals.burst..<(arrivals.burst + Arrivals.burstMinutes)).contains($0) }
      return own.isEmpty ? 0 : own.reduce(0) { $0 + arrivals.jobs[$1] } / own.count
    }
    #expect(mean(570..<690) > mean(870..<960))
    #expect(mean(1080..<1200) > mean(870..<960))
    #expect(mean(570..<690) > 5 * mean(60..<240))
    let burst = arrivals.jobs[arrivals.burst..<(arrivals.burst + Arrivals.burstMinutes)].reduce(0, +)
    #expect(burst >= 1_000_000)
  }

  @Test(
    "loses no job in any minute, nor does one before it came",
    arguments: [
      (5_000_000, nil), (60_000_000, nil), (120_000_000, nil), (5_000_000, 1), (400_000_000, nil),
    ] as [(Int, Int?)])
  func conservation(_ jobs: Int, _ workers: Int?) {
    let day = Self.day(jobs, workers: workers)
    var arrived = 0
    var submitted = 0
    var done = 0
    for minute in day.minutes {
      arrived += minute.arrived
      submitted += minute.submitted
      done += minute.done
      #expect(minute.outside >= 0 && minute.backlog >= 0 && minute.done >= 0 && minute.headWait >= 0)
      #expect(arrived == submitted + minute.outside)
      #expect(submitted == done + minute.backlog)
      if minute.headWait > 0 { #expect(minute.outside + minute.backlog > 0) }
      #expect(minute.use.values.allSatisfy { $0 <= 1 + 1e-9 })
    }
    #expect(arrived == jobs)
    #expect((done == jobs) == (day.cleared != nil))
    #expect(day.hours.reduce(0) { $0 + $1.done } == done)
  }

  @Test("is the same for the same seed")
  func seeds() {
    #expect(Self.day(60_000_000) == Self.day(60_000_000))
    #expect(Self.day(60_000_000) != Self.day(60_000_000, seed: 2))
  }

  @Test("that the machine carries has no backlog and no wait")
  func easy() {
    let day = Self.day(5_000_000)
    #expect(day.worstBacklog == 0)
    #expect(day.longestWaitMinutes == 0)
    #expect(day.cleared == 1440)
    #expect(day.imageBytes == 5_000_000 * 100_000)
    #expect(day.workers > 0 && day.workers <= 100)
  }

  @Test("whose peak is beyond the wall has a backlog, at the resource that is scarcest, and clears it")
  func peak() throws {
    let day = Self.day(60_000_000)
    #expect(day.worstBacklog > 0)
    #expect(day.longestWaitMinutes > 0)
    for minute in day.minutes where minute.backlog > 0 {
      #expect(minute.scarcest == .log)
      #expect(abs((minute.use[.log] ?? 0) - 1) < 1e-3)
    }
    #expect(try #require(day.cleared) >= 1440)
    let hardest = try #require(day.hours.first { $0.backlog > 0 })
    #expect(hardest.scarcest == .log)
    #expect(abs(hardest.scarcestUse - 1) < 1e-3)
  }

  @Test("with one worker waits for it, and the head of the line waits ever longer")
  func fewWorkers() throws {
    let day = Self.day(6_000_000, workers: 1)
    #expect(day.minutes.filter { $0.backlog > 0 }.allSatisfy { $0.scarcest == .workers })
    #expect(day.cleared == day.minutes.count)
    #expect(day.longestWaitMinutes > 60)
  }

  @Test("that no week would clear says so")
  func endless() {
    let day = Self.day(5_000_000, workers: 0)
    #expect(day.cleared == nil)
    #expect(day.minutes.reduce(0) { $0 + $1.done } == 0)
    #expect(day.minutes.count == 8 * 1440)
    #expect(day.longestWaitMinutes == 8 * 1440 - 1 - (day.minutes.firstIndex { $0.arrived > 0 } ?? 0))
  }
}
