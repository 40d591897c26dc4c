import BenchmarkKit
import Foundation
import Testing

struct ResultFileTests {
  @Test("The file has medians, extents, ratios and every sample")
  func file() throws {
    let file = ResultFile(
      machine: nil, settings: BenchmarkSettings(isQuick: true, runs: 3),
      rows: [SampleResults.drain, SampleResults.latency])
    #expect(!file.isWhole)
    let object = try #require(
      try JSONSerialization.jsonObject(with: file.data()) as? [String: Any])
    #expect(object["is_whole"] as? Bool == false)
    let rows = try #require(object["rows"] as? [[String: Any]])
    #expect(rows.map { $0["unit"] as? String } == ["jobs/s", "ms"])
    let ours = try #require((rows[0]["contenders"] as? [[String: Any]])?.first)
    #expect(ours["headline"] as? [String: Double] == ["median": 2000, "minimum": 1000, "maximum": 4000])
    #expect((ours["samples"] as? [[String: Any]])?.count == 3)
    #expect((ours["peak_memory_bytes"] as? [String: Double])?["maximum"] == 22_000_000)
    let peer = try #require((rows[0]["contenders"] as? [[String: Any]])?.last)
    #expect(peer["failure"] as? String == "It is not installed.")
    #expect(peer["headline"] == nil)
  }

  @Test("The names of further figures stay as they are")
  func furtherFigures() throws {
    let file = ResultFile(
      machine: nil, settings: BenchmarkSettings(), rows: [SampleResults.latency])
    #expect(file.isWhole)
    #expect(String(decoding: try file.data(), as: UTF8.self).contains(#""p99_ms" : 5.5"#))
  }
}
