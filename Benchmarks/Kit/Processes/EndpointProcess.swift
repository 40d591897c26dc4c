import Foundation
import Glibc

/// A `model-endpoint` of the benchmarks' own, from the folder in which this program lies.
public final class EndpointProcess: Sendable {
  /// Where it is, for instance `http://127.0.0.1:41234`.
  public let url: String
  /// The process.
  public let process: MeasuredProcess

  /// Starts an endpoint and waits until it listens.
  ///
  /// - Parameters:
  ///   - delay: From the end of an upload to its answer.
  ///   - threads: Those that serve connections.
  ///   - arguments: More of its options.
  public init(
    _ settings: BenchmarkSettings, delay: Duration = .zero, threads: Int = 1, arguments: [String] = []
  ) async throws {
    process = try MeasuredProcess(
      settings.program("model-endpoint"),
      [
        "--port", "0", "--dialect", "guide", "--no-decode", "--threads", "\(threads)", "--delay",
        "\(Int(delay / .milliseconds(1)))ms",
      ] + arguments)
    try await process.wait(for: "listening") { output, _ in output.contains("\n") }
    let line = process.outputSoFar.split(separator: "\n").first ?? ""
    guard let address = line.split(separator: " ").last, address.contains(":") else {
      process.send(SIGKILL)
      throw BenchmarkError("The endpoint did not say where it listens: \(line)")
    }
    url = "http://\(address)"
  }

  /// Ends it.
  public func stop() async {
    process.send(SIGTERM)
    _ = await process.ended()
  }
}
