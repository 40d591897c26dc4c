import Testing

@testable import Queue
@testable import Support

@Suite("The scan mark")
struct ScanMarkTests {
  let start = ContinuousClock.now

  @Test("runs ahead with full claims")
  func runsAhead() {
    var mark = ScanMark(now: start)
    #expect(mark.start(now: start) == 0)
    mark.claimed(from: 0, last: 5000, short: false)
    #expect(mark.start(now: start) == 5000)
    #expect(mark.furthest == 5000)
  }

  @Test("falls back to the published mark when a claim comes back short")
  func shortClaim() {
    var mark = ScanMark(now: start)
    mark.published(3000)
    mark.claimed(from: 3000, last: 9000, short: true)
    #expect(mark.start(now: start) == 3000)
    mark.claimed(from: 3000, last: 4000, short: false)
    #expect(mark.start(now: start) == 4000, "it falls back once")
  }

  @Test("falls back on a wake-up")
  func wakeUp() {
    var mark = ScanMark(now: start)
    mark.published(1000)
    mark.claimed(from: 1000, last: 9000, short: false)
    mark.wakeUp()
    #expect(mark.start(now: start) == 1000)
  }

  @Test("falls back after 250 ms, and not before", arguments: [(249, 9000), (250, 1000), (5000, 1000)])
  func interval(milliseconds: Int, expected: Int64) {
    var mark = ScanMark(now: start)
    mark.published(1000)
    mark.claimed(from: 1000, last: 9000, short: false)
    #expect(mark.start(now: start + .milliseconds(milliseconds)) == expected)
  }

  @Test("falls back at once to a published mark that went back, by a sweep or after a restore")
  func lowered() {
    var mark = ScanMark(now: start)
    mark.published(7000)
    mark.claimed(from: 7000, last: 9000, short: false)
    mark.published(100)
    #expect(mark.start(now: start) == 100)
  }

  @Test("is moved up to the published mark when others have claimed further")
  func behind() {
    var mark = ScanMark(now: start)
    mark.claimed(from: 0, last: 100, short: false)
    mark.published(7000)
    #expect(mark.start(now: start) == 7000)
  }

  @Test("finds every job in any history, whatever other workers hide for the moment")
  func history() {
    for seed in UInt64(1)...40 { check(seed: seed) }
  }

  /// One worker claims one lane in which other workers' locks hide jobs for the moment.
  private func check(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var mark = ScanMark(now: start)
    var waiting: Set<Int64> = Set((0..<50).map { _ in Int64.random(in: 1...10_000, using: &random) })
    var now = start
    var claimed = 0
    let total = waiting.count
    for _ in 0..<200 where claimed < total {
      now += .milliseconds(Int.random(in: 0...120, using: &random))
      let from = mark.start(now: now)
      let limit = Int.random(in: 1...8, using: &random)
      let seen = waiting.filter { $0 >= from && !Bool.random(using: &random) }.sorted().prefix(limit)
      waiting.subtract(seen)
      claimed += seen.count
      mark.claimed(from: from, last: seen.last, short: seen.count < limit)
    }
    #expect(waiting.isEmpty, "seed \(seed) left \(waiting.count) jobs")
  }
}
