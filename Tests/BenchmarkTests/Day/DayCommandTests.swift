import BenchmarkRows
import Foundation
import TestSupport
import Testing

@testable import CommandLineTool

@Suite("The command of a day")
struct DayCommandTests {
  private struct Outcome {
    let code: ExitCode
    let output: String
    let messages: String
  }

  private static func run(_ rows: [String], _ options: [String] = []) async throws -> Outcome {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let file = folder.url.appending(path: "results.json")
    try Data(
      "{\"settings\": {\"quick\": true, \"runs\": 1}, \"rows\": [\(rows.joined(separator: ","))]}".utf8
    ).write(to: file)
    let output = MemoryWriter()
    let messages = MemoryWriter()
    let code = await Tool(BenchmarkCommand.command, version: "1").run(
      ["day", "--results", file.path] + options, environment: [:],
      console: Console(output: output, messages: messages))
    return Outcome(code: code, output: output.text, messages: messages.text)
  }

  private static let rows = [SampleDay.store, SampleDay.one, SampleDay.bulk, SampleDay.whole]

  @Test("shows the table and the hours, and warns of a quick run's figures")
  func shows() async throws {
    let outcome = try await Self.run(Self.rows)
    #expect(outcome.code == .done)
    #expect(outcome.messages.contains("quick run"))
    #expect(outcome.output.contains("whole-job-50ms: 64 in flight"))
    let elsewhere = try await Self.run(Self.rows, ["--images", "objects"])
    #expect(elsewhere.output.contains("object store 500 us") && elsewhere.output.contains("image-store: in"))
    #expect(elsewhere.output.contains("cores of the object store"))
    let lines = outcome.output.split(separator: "\n").map(String.init)
    for cores in [8, 32, 96] {
      #expect(lines.filter { $0.hasPrefix("  ") && $0.split(separator: " ").first == "\(cores)" }.count >= 2)
    }
    #expect(outcome.output.contains("first wall"))
    #expect(outcome.output.contains("longest wait"))
    #expect(outcome.output.contains("The last job is done"))
  }

  @Test("writes all of it as JSON, the same for the same seed")
  func json() async throws {
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let paths = ["a", "b"].map { folder.url.appending(path: $0).path }
    for path in paths {
      let outcome = try await Self.run(Self.rows, ["--jobs", "1000000", "--seed", "3", "--json", path])
      #expect(outcome.code == .done)
    }
    let data = try Data(contentsOf: URL(fileURLWithPath: paths[0]))
    #expect(try Data(contentsOf: URL(fileURLWithPath: paths[1])) == data)
    let file = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let day = try #require(file["day"] as? [String: Any])
    #expect(day["jobs"] as? Int == 1_000_000)
    #expect((day["hours"] as? [[String: Any]])?.compactMap { $0["done"] as? Int }.reduce(0, +) == 1_000_000)
    let scale = try #require(file["scale"] as? [[String: Any]])
    #expect(scale.count == 6)
    #expect((scale.first?["rates"] as? [String: Any])?["log"] != nil)
  }

  @Test("says which row is missing")
  func missing() async throws {
    let outcome = try await Self.run([SampleDay.whole])
    #expect(outcome.code == .unreadableInput)
    #expect(outcome.messages.contains("no row enqueue-bulk"))
    #expect(outcome.messages.contains("scripts/bench --only"))
  }

  @Test("goes without the object store where it was not measured")
  func withoutObjects() async throws {
    let outcome = try await Self.run([SampleDay.one, SampleDay.bulk, SampleDay.whole])
    #expect(outcome.code == .done)
    #expect(!outcome.output.contains("objects"))
    #expect(outcome.messages.contains("no row image-store"))
  }
}
