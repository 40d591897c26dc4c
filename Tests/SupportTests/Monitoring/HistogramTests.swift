import Testing

@testable import Support

@Suite("A histogram")
struct HistogramTests {
  @Test("has each length under the smallest bound that is not below it, and under all above")
  func bounds() throws {
    let histogram = Histogram()
    for milliseconds in [0, 1, 2, 10, 10_000, 500_000] { histogram.observe(.milliseconds(milliseconds)) }
    let reading = histogram.reading
    #expect(
      Histogram.bounds == Histogram.bounds.sorted() && reading.cumulative.count == Histogram.bounds.count)
    func atMost(_ seconds: Double) throws -> Int {
      reading.cumulative[try #require(Histogram.bounds.firstIndex(of: seconds))]
    }
    #expect(try atMost(0.001) == 2)
    #expect(try atMost(0.0025) == 3)
    #expect(try atMost(0.01) == 4)
    #expect(try atMost(5) == 4)
    #expect(try atMost(10) == 5)
    #expect(try atMost(120) == 5)
    #expect(reading.count == 6)
    #expect(reading.sum == 510.013)
  }

  @Test("takes a clock that was set back for no time at all")
  func negative() {
    let histogram = Histogram()
    histogram.observe(.seconds(-3))
    #expect(histogram.reading.cumulative[0] == 1 && histogram.reading.sum == 0)
  }

  @Test("loses nothing that many observe at once")
  func concurrent() async {
    let histogram = Histogram()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1000 { histogram.observe(.milliseconds(3)) }
        }
      }
    }
    #expect(histogram.reading.count == 8000 && histogram.reading.sum == 24)
  }
}

@Suite("Counters by a label")
struct LabelledCounterTests {
  @Test("count each value apart")
  func values() {
    let counter = Counters().labelled("answers")
    for status in ["200", "503", "200"] { counter.add(status) }
    #expect(counter.values == ["200": 2, "503": 1])
  }

  @Test("count what goes beyond the most values as other, so that nobody can make up ever more")
  func bounded() {
    let counter = LabelledCounter()
    for value in 0..<1000 { counter.add("\(value)") }
    #expect(counter.values.count == LabelledCounter.most + 1)
    #expect(counter.values["other"] == 1000 - LabelledCounter.most)
    counter.add("0")
    #expect(counter.values["0"] == 2)
  }
}
