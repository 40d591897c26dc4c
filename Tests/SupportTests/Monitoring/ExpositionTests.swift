import TestSupport
import Testing

@testable import Support

@Suite("The text of metrics")
struct ExpositionTests {
  private static let jobs = MetricDefinition(
    "test_jobs", .gauge, labels: ["state", "type"], help: "Jobs by state and type")

  @Test("has help, type and a line for each value; an empty label is left out, and a metric without values")
  func text() {
    let none = MetricDefinition("test_none_total", .counter, help: "Nothing")
    let text = Exposition.text([
      MetricFamily(Self.jobs, [MetricSample(["waiting", "ear"], 3), MetricSample(["dead", ""], 0.5)]),
      none.value(Double?.none),
    ])
    #expect(
      text == """
        # HELP test_jobs Jobs by state and type.
        # TYPE test_jobs gauge
        test_jobs{state="waiting",type="ear"} 3
        test_jobs{state="dead"} 0.5

        """)
  }

  @Test("has a histogram's buckets, its sum and its count")
  func histogram() {
    let histogram = Histogram()
    histogram.observe(.milliseconds(1500))
    let text = MetricsText(
      Exposition.text([
        MetricFamily(
          MetricDefinition("test_seconds", .histogram, labels: ["endpoint"], help: "Time"),
          [MetricSample(["a"], histogram.reading)])
      ]))
    #expect(text["test_seconds_bucket{endpoint=\"a\",le=\"1\"}"] == 0)
    #expect(text["test_seconds_bucket{endpoint=\"a\",le=\"2.5\"}"] == 1)
    #expect(text["test_seconds_bucket{endpoint=\"a\",le=\"+Inf\"}"] == 1)
    #expect(
      text["test_seconds_sum{endpoint=\"a\"}"] == 1.5 && text["test_seconds_count{endpoint=\"a\"}"] == 1)
  }

  @Test(
    "is read by Prometheus' own tool, whatever a label holds",
    .enabled(if: Promtool.isAvailable, "needs promtool, of Debian's package prometheus"),
    arguments: ["a\"b", "a\\", "a\nb 1\n# TYPE x", "é\u{1F600}", "}", String(repeating: "x", count: 10_000)])
  func labels(value: String) async throws {
    let text = Exposition.text([MetricFamily(Self.jobs, [MetricSample([value, "ear"], 1)])])
    #expect(try await Promtool.complaints(ofMetrics: text) == "")
    #expect(text.split(separator: "\n").count == 3)
  }
}
