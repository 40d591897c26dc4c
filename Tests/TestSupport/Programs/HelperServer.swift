import Foundation

/// A server in another language that says its port on the first line of its output, and stops when its
/// input ends.
public final class HelperServer: Sendable {
  /// The port.
  public let port: Int
  private let input: Pipe
  private let process: Process

  /// Starts the program and waits until it says its port.
  public init(_ path: String, _ arguments: [String]) async throws {
    let process = Process()
    let output = Pipe()
    let input = Pipe()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let line: String = await withCheckedContinuation { done in
      Thread.detachNewThread {
        let bytes = output.fileHandleForReading.availableData
        done.resume(returning: String(decoding: bytes, as: UTF8.self))
      }
    }
    guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw ServerFailure("the helper did not say its port")
    }
    self.port = port
    self.input = input
    self.process = process
  }

  deinit {
    try? input.fileHandleForWriting.close()
    if process.isRunning { process.terminate() }
  }
}
