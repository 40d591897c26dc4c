import QueueTestSupport
import Synchronization
import TestSupport
import Testing

@testable import CommandLineTool
@testable import Control
@testable import Support

@Suite("status --watch")
struct StatusWatchTests {
  /// Sends a signal with the first text that it is given after the screen was opened.
  private final class Watcher: TextWriter {
    let kept = MemoryWriter()
    private let signals: AsyncStream<Signal>.Continuation
    private let isEnough: @Sendable (String) -> Bool

    init(_ signals: AsyncStream<Signal>.Continuation, until isEnough: @escaping @Sendable (String) -> Bool) {
      self.signals = signals
      self.isEnough = isEnough
    }

    func write(_ text: String) throws(WriteError) {
      try kept.write(text)
      if isEnough(kept.text) { signals.yield(.interrupt) }
    }
  }

  /// Watches until enough was written; what was written, and with which code it ended.
  private func watch(
    _ queue: QueueFixture, _ arguments: [String], terminal: Terminal,
    until isEnough: @escaping @Sendable (String) -> Bool
  ) async -> (output: String, code: ExitCode) {
    let (stream, signals) = AsyncStream<Signal>.makeStream()
    let watcher = Watcher(signals, until: isEnough)
    var control = queue.control
    control.brokenOutput = watcher
    control.outputTerminal = terminal
    control.interruptions = { stream }
    let ran = await control.run(["status", "--watch"] + arguments)
    return (watcher.kept.text, ran.code)
  }

  @Test("draws the status on the terminal's other screen, and gives the terminal back when a signal comes")
  func drawn() async throws {
    try await withQueue { queue in
      try await queue.addUser()
      try await queue.submit(3)
      let found = await watch(queue, [], terminal: Terminal(isTerminal: true, width: 80, height: 30)) {
        $0.contains("\u{1B}[J")
      }
      #expect(found.code == .done)
      #expect(found.output.hasPrefix("\u{1B}[?1049h") && found.output.hasSuffix("\u{1B}[?1049l"))
      #expect(found.output.contains("every 2 s; Ctrl-C ends\u{1B}[K\r\n\u{1B}[K\r\nwaiting 3, running 0"))
    }
  }

  @Test("prints a line of JSON each time, and needs no terminal for it")
  func json() async throws {
    try await withQueue { queue in
      let found = await watch(queue, ["--json"], terminal: .plain) { $0.contains("\n{") }
      #expect(found.code == .done)
      let lines = found.output.split(separator: "\n")
      #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix(#"{"schema_version":"#) })
    }
  }

  @Test("is refused where there is no terminal")
  func refused() async {
    let ran = await Control(database: "host=/nowhere").run(["status", "--watch"])
    #expect(ran.code == .usage)
    #expect(ran.messages.contains("--watch needs a terminal"))
  }
}
