import Synchronization
import TestSupport

@testable import CommandLineTool
@testable import Control
@testable import Support

/// Runs `analysisctl` within the test's process, with writers and an input of its own.
struct Control: Sendable {
  /// What a run came to.
  struct Ran: Sendable {
    let code: ExitCode
    let output: String
    let messages: String

    /// The lines of standard output.
    var lines: [String] { output.split(separator: "\n").map(String.init) }
  }

  var environment: [String: String] = [:]
  var input: [UInt8] = []
  /// What is typed at the terminal; nil where there is none.
  var typed: String?
  var runKey = "test-run"
  /// In place of a writer that keeps what is written.
  var brokenOutput: (any TextWriter)?
  var outputTerminal = Terminal.plain
  var network = NetworkDependencies.system
  var interruptions: @Sendable () -> AsyncStream<Signal> = { AsyncStream { $0.finish() } }

  init(database: String? = nil) {
    environment["ANALYSIS_DATABASE"] = database
    // No test waits for a server that never is.
    environment["ANALYSIS_CONNECT_TIMEOUT"] = "0s"
  }

  func callAsFunction(_ arguments: String...) async -> Ran {
    await run(arguments)
  }

  /// Runs the doctor; what it found, and with which code it ended.
  func doctor(_ arguments: String...) async throws -> (found: Diagnosis, code: ExitCode) {
    let ran = await run(["doctor", "--json"] + arguments)
    guard ran.messages.isEmpty else { throw TestSupportError("doctor said: \(ran.messages)") }
    return (try Diagnosis(ran.output), ran.code)
  }

  func run(_ arguments: [String]) async -> Ran {
    let (output, messages) = (MemoryWriter(), MemoryWriter())
    let console = Console(
      output: brokenOutput ?? output, messages: messages, outputTerminal: outputTerminal)
    let (input, typed, interruptions, runKey, network) = (input, typed, interruptions, runKey, network)
    let dependencies = Dependencies(
      interruptions: { interruptions() },
      standardInput: { limit in
        guard input.count <= limit else {
          throw CommandFailure(.unreadableInput, "standard input is too long")
        }
        return input
      }, typedLine: { _ in typed }, hasTerminal: { typed != nil }, runKey: { runKey }, network: network,
      owner: { ProcessOwner(user: "olga", host: "ops-1") })
    let code = await ControlProgram.tool(dependencies).run(
      arguments, environment: environment, console: console)
    return Ran(code: code, output: output.text, messages: messages.text)
  }
}
