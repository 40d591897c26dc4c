import Testing

@testable import BenchmarkRows
@testable import Support

@Suite("The figures of the rows")
struct FigureTests {
  @Test("memory that stays is no growth, memory that creeps is")
  func memory() throws {
    let flat = try MemoryCourse.figures(Array(repeating: 50_000_000, count: 100), peak: 51_000_000)
    #expect(
      flat == [
        "peak_mb": 51, "first_tenth_mb": 50, "middle_tenth_mb": 50, "last_tenth_mb": 50, "growth_mb": 0,
      ])
    let creeping = try MemoryCourse.figures((0..<100).map { 1_000_000 * $0 }, peak: 99_000_000)
    #expect(creeping["growth_mb"] == 90)
    #expect(creeping["middle_tenth_mb"] == 49.5)
    #expect(throws: (any Error).self) { try MemoryCourse.figures([1], peak: 1) }
  }

  @Test("a worker is set against the endpoint with as many calls in flight, and with no other")
  func percent() {
    let rates = WorkerRates()
    #expect(rates.percent(of: 200, inFlight: 64) == nil)
    rates.note(100, inFlight: 64)
    #expect(rates.percent(of: 200, inFlight: 64) == 50)
    #expect(rates.percent(of: 200, inFlight: 256) == nil)
  }

  @Test("uploads count when all were answered well")
  func uploads() throws {
    let good = try UploadReport(output: "Running 5s test\n{\"uploads\":12,\"seconds\":1.5,\"failed\":0}\n")
    #expect(good.uploads == 12)
    #expect(good.seconds == 1.5)
    for line in ["", "12 requests", #"{"uploads":12,"seconds":1.5,"failed":1}"#] {
      #expect(throws: (any Error).self) { try UploadReport(output: line) }
    }
  }

  @Test("psql copies the rows of the report, on one line and with nothing left to fill in")
  func query() throws {
    let month = try #require(Period("2026-10"))
    let words = try AnalysesQuery.copy(month, to: "/tmp/a.csv")
    #expect(words.hasPrefix("\\copy (SELECT r.job_id"))
    #expect(words.contains("r.period = 24321::smallint"))
    #expect(!words.contains("$"))
    #expect(!words.contains("\n"))
    #expect(throws: (any Error).self) { try AnalysesQuery.copy(month, to: "/tmp/it's.csv") }
  }
}
