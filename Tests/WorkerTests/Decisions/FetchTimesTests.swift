import Testing

@testable import Worker

@Suite("Which fetches of an object store are late")
struct FetchTimesTests {
  private let start = ContinuousClock.now

  /// Fetches of 1 to 100 ms each, one a second.
  private func times(_ count: Int, each: (Int) -> Duration = { .milliseconds($0 % 100 + 1) }) -> FetchTimes {
    var times = FetchTimes()
    for number in 0..<count {
      _ = times.begin(at: start + .seconds(number))
      times.observe(each(number), at: start + .seconds(number))
    }
    return times
  }

  @Test("are those beyond the 99th percentile, once there are enough to tell")
  func percentile() {
    var few = times(FetchTimes.least - 1)
    #expect(few.begin(at: start) == nil)
    var enough = times(FetchTimes.least)
    #expect(enough.begin(at: start + .seconds(100)) == .milliseconds(100))
    var quick = times(200) { _ in .milliseconds(1) }
    #expect(quick.begin(at: start + .seconds(200)) == FetchTimes.floor)
  }

  @Test("are told by this hour's alone, and by the last of many")
  func forgets() {
    var old = times(200)
    #expect(old.begin(at: start + .seconds(3900)) == nil)
    // The first hour was slow, and so were those of which there is no room to know.
    var many = times(3000) { .milliseconds($0 < 1500 ? 900 : 60) }
    #expect(many.begin(at: start + .seconds(3000)) == .milliseconds(60))
    var two = times(4000) { .milliseconds($0 < 200 ? 900 : 60) }
    #expect(two.begin(at: start + .seconds(4000)) == .milliseconds(60))
  }

  @Test("are asked for again at most once in fifty, and eight at once, however slow the store is")
  func allowance() {
    var times = times(FetchTimes.least)
    var hedges = 0
    func all() { while times.takeHedge() { hedges += 1 } }
    all()
    #expect(hedges == FetchTimes.least / FetchTimes.perHedge)
    for _ in 0..<10_000 {
      _ = times.begin(at: start)
      if times.takeHedge() { hedges += 1 }
    }
    #expect(hedges == (10_000 + FetchTimes.least) / FetchTimes.perHedge)
    for _ in 0..<10_000 { _ = times.begin(at: start) }
    hedges = 0
    all()
    #expect(hedges == FetchTimes.atOnce)
  }
}
