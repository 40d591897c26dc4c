import BenchmarkKit
import Testing

struct ProgramReportTests {
  @Test("The last line of the output is read, and what it does not say is left open")
  func lastLine() throws {
    let report = try ProgramReport(
      output: """
        starting
        {"peer":"pgqueuer","version":"1.6.0","action":"latency","jobs":300,"seconds":2.5,"latency_ms":{"p50":5,"p99":9,"until_function_p50":4}}

        """)
    #expect(report.amount == 300)
    #expect(report.workerSeconds == nil)
    #expect(report.version == "1.6.0")
    #expect(report.further == ["p50_ms": 5, "p99_ms": 9, "until_function_p50_ms": 4])
  }

  @Test("What a report is written as is read as the same")
  func roundTrip() throws {
    let report = ProgramReport(amount: 10, seconds: 0.5, workerSeconds: 0.25, peakMemory: 1024)
    #expect(try ProgramReport(output: "noise\n" + report.line() + "\n") == report)
  }

  @Test(
    "Anything else is an error that shows it",
    arguments: ["", "Traceback: no module", "{\"jobs\": \"many\"}"])
  func nonsense(output: String) {
    #expect(throws: BenchmarkError.self) { try ProgramReport(output: output) }
  }
}
