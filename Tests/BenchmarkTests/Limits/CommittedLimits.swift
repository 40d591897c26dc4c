import Foundation
import TestSupport
import Testing

/// The limits of `Benchmarks/limits.json`: costs of a job that do not depend on how fast or busy the machine is.
struct CommittedLimits {
  private struct Line: Decodable {
    let name: String
    let limit: Double
    let what: String
  }

  private let lines: [Line]

  init() throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: packagePath("Benchmarks/limits.json")))
    lines = try JSONDecoder().decode([Line].self, from: data)
  }

  /// The names, in the file's order.
  var names: [String] { lines.map(\.name) }

  /// Whether a cost is within its limit; not where there is none of that name.
  func allow(_ cost: Double, _ name: String) -> Bool {
    lines.contains { $0.name == name && cost <= $0.limit }
  }

  /// Expects a cost to be within its limit, and the limit to be near enough to say something.
  func expect(_ cost: Double, _ name: String, _ location: SourceLocation = #_sourceLocation) throws {
    let line = try #require(
      lines.first { $0.name == name }, "no limit is called \(name)", sourceLocation: location)
    #expect(cost <= line.limit, "\(line.what): \(cost)", sourceLocation: location)
    #expect(
      cost >= line.limit * 0.7, "\(line.what) is \(cost) now: lower the limit", sourceLocation: location)
  }
}
