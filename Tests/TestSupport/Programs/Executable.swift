public import Foundation

/// One of the package's executables, run for real.
public struct Executable: Sendable {
  /// How it ended, and what it has written.
  public struct Ended: Sendable {
    /// Its exit code, or the signal that killed it.
    public let code: Int32
    /// Whether a signal ended it.
    public let wasKilled: Bool
    /// Its standard output.
    public let output: String
    /// Its standard error.
    public let messages: String
  }

  private let program: RunningProgram

  /// The folder that the test's own program lies in, where the build puts the executables too.
  public static var programs: URL {
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  }

  /// Starts it.
  ///
  /// - Parameter script: What `bash` does first; it becomes the executable by `exec "$0" "$@"`.
  public init(
    _ name: String, _ arguments: [String], environment: [String: String] = [:], script: String? = nil
  ) throws {
    var all = ProcessInfo.processInfo.environment.filter {
      !$0.key.hasPrefix("PG") && !$0.key.hasPrefix("ANALYSIS_")
    }
    all.merge(environment) { _, new in new }
    let path = Self.programs.appending(path: name).path
    program =
      if let script {
        try RunningProgram("/bin/bash", ["-c", script, path] + arguments, environment: all)
      } else {
        try RunningProgram(path, arguments, environment: all)
      }
  }

  /// Its process.
  public var processID: Int32 { program.processID }

  /// Waits for its end.
  public func ended() async -> Ended {
    let ended = await program.ended()
    return Ended(
      code: ended.status, wasKilled: ended.wasKilled,
      output: String(decoding: ended.output, as: UTF8.self), messages: ended.errors)
  }

  /// Sends it a signal.
  public func send(_ signal: Int32) { program.send(signal) }

  /// Whether it has ended.
  public var hasEnded: Bool { program.hasEnded }

  /// Waits until a SIGSTOP has stopped it.
  public func hasStopped(file: String = #fileID, line: Int = #line) async throws {
    try await eventually(file: file, line: line) {
      // The state is the first word after the program's name, which may hold anything.
      let status = try String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
      return status.split(separator: ")").last?.hasPrefix(" T") == true
    }
  }

  /// What it has written to its standard output so far.
  public var outputSoFar: String { program.outputSoFar }

  /// What it has written to its standard error so far.
  public var messagesSoFar: String { program.errorsSoFar }

  /// The first line of its standard output, without its end, as soon as it is written.
  public func firstLine() async throws -> String { try await program.firstLine() }
}
