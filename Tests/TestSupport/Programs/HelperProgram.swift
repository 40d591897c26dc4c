public import Foundation

/// Programs that tests need beside them: `openssl`, Python, `bash`.
///
/// All tests of a process share a few threads, as many as there are cores; so none may wait on one of them
/// for a program. This is the one way to run a program to its end.
public enum HelperProgram {
  /// Runs a program to its end.
  ///
  /// - Parameter input: What it reads from its standard input.
  /// - Throws: When the program cannot be started; how it ended is for the caller to judge.
  public static func run(
    _ path: String, _ arguments: [String], input: [UInt8] = [], directory: URL? = nil
  ) async throws -> RunningProgram.Ended {
    try await RunningProgram(path, arguments, input: input, directory: directory).ended()
  }

  /// Runs a program to its end and gives what it wrote to its standard output.
  ///
  /// - Throws: `TestSupportError` when it ends with anything but 0, with what it said.
  public static func output(
    _ path: String, _ arguments: [String], input: [UInt8] = []
  ) async throws -> [UInt8] {
    let ended = try await run(path, arguments, input: input)
    guard ended.status == 0, !ended.wasKilled else {
      throw TestSupportError("\(path) ended with \(ended.status): \(ended.errors)")
    }
    return ended.output
  }

  /// The first of some paths at which there is a program.
  public static func find(_ candidates: String...) -> String? {
    candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
  }
}
