import Foundation
import TestSupport

/// One of the package's executables, run for real.
struct Executable: Sendable {
  struct Ended: Sendable {
    let code: Int32
    let wasKilled: Bool
    let output: String
    let messages: String
  }

  private let program: RunningProgram

  /// The folder that the test's own program lies in, where the build puts the executables too.
  static var programs: URL {
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  }

  init(_ name: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    var all = ProcessInfo.processInfo.environment.filter {
      !$0.key.hasPrefix("PG") && !$0.key.hasPrefix("ANALYSIS_")
    }
    all.merge(environment) { _, new in new }
    program = try RunningProgram(
      Self.programs.appending(path: name).path, arguments, environment: all)
  }

  var processID: Int32 { program.processID }

  func ended() async -> Ended {
    let ended = await program.ended()
    return Ended(
      code: ended.status, wasKilled: ended.wasKilled,
      output: String(decoding: ended.output, as: UTF8.self), messages: ended.errors)
  }

  func send(_ signal: Int32) { program.send(signal) }

  /// What it has written to its standard output so far.
  var outputSoFar: String { program.outputSoFar }

  /// What it has written to its standard error so far.
  var messagesSoFar: String { program.errorsSoFar }

  /// The first line of its standard output, without its end, as soon as it is written.
  func firstLine() async throws -> String { try await program.firstLine() }
}
