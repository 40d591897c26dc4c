import BenchmarkKit
import Testing

struct PercentilesTests {
  @Test("A percentile is a value that was measured, the least that so many do not pass")
  func nearestRank() throws {
    let percentiles = try Percentiles((1...200).reversed().map(Double.init))
    #expect(percentiles.value(at: 50) == 100)
    #expect(percentiles.value(at: 95) == 190)
    #expect(percentiles.value(at: 99) == 198)
    #expect(percentiles.value(at: 100) == 200)
    #expect(percentiles.value(at: 0) == 1)
  }

  @Test("Of one value every percentile is that one")
  func oneValue() throws {
    #expect(try Percentiles([7]).figures == ["p50_ms": 7, "p95_ms": 7, "p99_ms": 7])
  }

  @Test("Of no values there are none")
  func nothing() {
    #expect(throws: BenchmarkError.self) { try Percentiles([]) }
  }
}
