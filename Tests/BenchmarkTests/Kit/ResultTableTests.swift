import BenchmarkKit
import Testing

struct ResultTableTests {
  @Test("A rate: median, extent, ratio to the first, processors, memory, further figures, failures")
  func rate() {
    let table = ResultTable.text(SampleResults.drain)
    let lines = table.split(separator: "\n").map(String.init)
    #expect(lines[0] == "drain: claim and complete")
    #expect(
      words(lines[1]) == "jobs/s (least to most) ratio worker ms/1000 server ms/1000 MB wal bytes per job")
    #expect(words(lines[2]) == "500 a batch 2 000 (1 000 to 4 000) 1.00 2.00 10.0 21.0 410")
    #expect(words(lines[3]) == "limit: pgbench 10 000 (10 000 to 10 000) 5.00")
    #expect(words(lines[4]) == "peer: pgqueuer failed: It is not installed.")
    #expect(lines.count == 5)
  }

  @Test("A time: less is better, and the ratio says how many times as long it takes")
  func figure() {
    let lines = ResultTable.text(SampleResults.latency).split(separator: "\n").map(String.init)
    #expect(words(lines[1]) == "ms (least to most) ratio worker ms/1000 server ms/1000 MB p99 ms")
    #expect(words(lines[2]) == "ours 2.00 (2.00 to 2.00) 1.00 5.50")
    #expect(words(lines[3]) == "peer: pgqueuer 1.6.0 5.00 (5.00 to 5.00) 2.50 9.00")
  }

  @Test("A row that could not be prepared says why")
  func failure() {
    let result = RowResult(
      name: "drain", sentence: "claim", headline: .rate(of: "jobs"), failure: "No room on the disk.")
    #expect(ResultTable.text(result) == "drain: claim\n  not measured: No room on the disk.\n")
    #expect(!result.isWhole)
  }

  /// The columns' widths are no matter here.
  private func words(_ line: String) -> String { line.split(separator: " ").joined(separator: " ") }
}
