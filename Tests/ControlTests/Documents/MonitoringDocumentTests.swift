import Foundation
import TestSupport
import Testing

@testable import Control
@testable import Gateway
@testable import Support
@testable import Worker

@Suite("What is said of the metrics is true")
struct MonitoringDocumentTests {
  private static let metrics = WorkerMetrics.all + GatewayMetrics.all + QueueMetrics.all + RunMetrics.all

  private static func text(_ path: String) throws -> String {
    try String(contentsOfFile: packagePath(path), encoding: .utf8)
  }

  /// The expressions of the Grafana board.
  private static func expressions() throws -> [String] {
    let board = try JSONSerialization.jsonObject(with: Data(text("jobs/grafana.json").utf8)) as? [String: Any]
    let panels = try #require(board?["panels"] as? [[String: Any]])
    return panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }.compactMap { $0["expr"] as? String }
  }

  /// The metrics of ours that a text names, of a histogram without its endings.
  private static func named(in text: String) -> Set<String> {
    let names = text.matches(of: /\banalysis_[a-z_]+/).map { String($0.output) }
    let histograms = Set(metrics.filter { $0.kind == .histogram }.map(\.name))
    return Set(
      names.map { name in
        let bare = name.replacing(/_(bucket|sum|count)$/, with: "")
        return histograms.contains(bare) ? bare : name
      })
  }

  @Test("No two metrics have one name, and none has a label that could name a person")
  func definitions() {
    #expect(Set(Self.metrics.map(\.name)).count == Self.metrics.count)
    let labels = Set(Self.metrics.flatMap(\.labels))
    #expect(
      labels == [
        "class", "command", "endpoint", "limit", "outcome", "priority", "reason", "state", "status", "type",
        "version",
      ])
  }

  @Test("docs/metrics.md has a row for each metric, with its type and its labels, and names no other")
  func table() throws {
    let page = try Self.text("docs/metrics.md")
    for metric in Self.metrics {
      let labels = metric.labels.isEmpty ? "" : metric.labels.map { "`\($0)`" }.joined(separator: ", ")
      let start = "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels)"
      #expect(page.contains(start), "no row begins with: \(start)")
    }
    #expect(
      Self.named(in: page).subtracting(Self.metrics.map(\.name))
        == ["analysis_auditor", "analysis_operator", "analysis_worker"])
  }

  @Test("Every alert is in docs/operations.md, and looks at metrics that there are")
  func alerts() throws {
    let (rules, page) = (try Self.text("jobs/alerts.yml"), try Self.text("docs/operations.md"))
    let alerts = rules.matches(of: /- alert: (\w+)/).map { String($0.output.1) }
    #expect(alerts.count >= 8)
    for alert in alerts { #expect(page.contains("`\(alert)`"), "\(alert)") }
    let code = rules.split(separator: "\n").filter {
      !$0.contains("summary:") && !$0.contains("description:")
    }
    #expect(Self.named(in: code.joined(separator: "\n")).subtracting(Self.metrics.map(\.name)) == [])
  }

  @Test(
    "The alerts do what their tests say",
    .enabled(if: Promtool.isAvailable, "needs promtool, of Debian's package prometheus"))
  func rules() async throws {
    let folder = URL(fileURLWithPath: packagePath("jobs"))
    #expect(try await Promtool.complaints(["check", "rules", "alerts.yml"], directory: folder) == "")
    #expect(try await Promtool.complaints(["test", "rules", "alerts.test.yml"], directory: folder) == "")
    let tests = try Self.text("jobs/alerts.test.yml")
    for alert in try Self.text("jobs/alerts.yml").matches(of: /- alert: (\w+)/) {
      #expect(
        tests.contains("alertname: \(alert.output.1)\n        exp_alerts:\n"),
        "\(alert.output.1) is never raised")
    }
  }

  @Test("Every expression of the Grafana board names metrics that there are")
  func board() throws {
    let expressions = try Self.expressions()
    #expect(expressions.count > 20)
    let known = Set(Self.metrics.map(\.name))
    for expression in expressions {
      let named = Self.named(in: expression)
      #expect(!named.isEmpty && named.isSubset(of: known), "\(expression)")
    }
  }

  @Test(
    "Every expression of the Grafana board parses",
    .enabled(if: Promtool.isAvailable, "needs promtool, of Debian's package prometheus"))
  func parses() async throws {
    let files = try TemporaryFolder()
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    let rules = try Self.expressions().enumerated().map { number, expression in
      let quoted = try #require(
        String(data: encoder.encode(expression), encoding: .utf8))
      return "      - {record: \"board:expression\(number)\", expr: \(quoted)}\n"
    }
    try files.write(
      Array("groups:\n  - name: board\n    rules:\n\(rules.joined())".utf8), to: "board.yml")
    #expect(try await Promtool.complaints(["check", "rules", files.path("board.yml")]) == "")
  }
}
