import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// A `model-endpoint` of the test's own.
struct RunningEndpoint {
  let url: String
  let log: String
  private let process: Executable
  private let folder: TemporaryFolder

  /// Starts it on a free port, runs the body, stops it.
  static func with<R>(_ arguments: [String] = [], _ body: (RunningEndpoint) async throws -> R) async throws
    -> R
  {
    let folder = try TemporaryFolder()
    let log = folder.path("calls.jsonl")
    let process = try Executable("model-endpoint", ["--port", "0", "--log", log] + arguments)
    let endpoint: RunningEndpoint
    do {
      let line = try await process.firstLine()
      let start = "listening on "
      try #require(line.hasPrefix(start), "model-endpoint did not say where it listens: \(line)")
      endpoint = RunningEndpoint(
        url: "http://\(line.dropFirst(start.count))", log: log, process: process, folder: folder)
    } catch {
      process.send(SIGKILL)
      throw error
    }
    do {
      let result = try await body(endpoint)
      process.send(SIGTERM)
      let ended = await process.ended()
      #expect(ended.code == 0, "\(ended.messages)")
      return result
    } catch {
      process.send(SIGKILL)
      throw error
    }
  }

  /// How many uploads are open now.
  var inFlight: Int {
    get async throws {
      let address = try #require(URL(string: "\(url)/api/stats"))
      let (data, _) = try await URLSession.shared.data(from: address)
      let fields = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      return try #require(fields["inFlight"] as? Int)
    }
  }

  /// One dictionary for each call of the analysis, in order.
  var calls: [[String: Any]] {
    get throws {
      try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map { line in
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      }
    }
  }
}
