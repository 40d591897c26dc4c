import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import CommandLineTool

@Suite("Text appears on a terminal")
struct TerminalTests {
  @Test("nothing that could fool a terminal or its reader is printed", arguments: HostileText.all)
  func hostile(text: HostileText) {
    let messages = MemoryWriter()
    Console(output: MemoryWriter(), messages: messages).say("one\n\(text.text)")
    #expect(messages.text.hasPrefix("one\na"))
    #expect(HostileText.found(in: messages.text, except: "\n") == [])
  }

  @Test("colours come only where they are wanted")
  func colours() {
    #expect(Paint(Terminal(isTerminal: true, colour: true)).orange("x") == "\u{1B}[38;5;208mx\u{1B}[0m")
    #expect(Paint(Terminal.plain).orange("x") == "x")
  }

  @Test("a pipe is no terminal, and COLUMNS is believed within reason")
  func detection() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    defer { ends.forEach { close($0) } }
    #expect(Terminal.detect(descriptor: ends[1], environment: [:]) == .plain)
    #expect(Terminal.detect(descriptor: ends[1], environment: ["COLUMNS": "132"]).width == 132)
    #expect(Terminal.detect(descriptor: ends[1], environment: ["COLUMNS": "3"]).width == 80)
  }

  /// Linux's requests to unlock a pseudoterminal and to open its other side.
  private static let setLock: UInt = 0x4004_5431
  private static let openPeer: UInt = 0x5441

  @Test(
    "a terminal has colours unless NO_COLOR or TERM say otherwise",
    arguments: [([:], true), (["NO_COLOR": "1"], false), (["NO_COLOR": ""], true), (["TERM": "dumb"], false)])
  func noColour(environment: [String: String], expected: Bool) throws {
    let leader = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    try #require(leader >= 0)
    defer { close(leader) }
    var unlocked: Int32 = 0
    let follower = try #require(
      ioctl(leader, Self.setLock, &unlocked) == 0 ? ioctl(leader, Self.openPeer, O_RDWR | O_NOCTTY) : nil)
    try #require(follower >= 0)
    defer { close(follower) }
    let terminal = Terminal.detect(descriptor: follower, environment: environment)
    #expect(terminal.isTerminal)
    #expect(terminal.colour == expected)
  }

  @Test("a writer writes the whole of a text that is larger than the pipe")
  func wholeText() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    let text = String(repeating: "0123456789", count: 50000)
    let writeEnd = ends[1]
    Thread.detachNewThread {
      try? DescriptorWriter(writeEnd).write(text)
      close(writeEnd)
    }
    var received = 0
    var chunk = [UInt8](repeating: 0, count: 4096)
    while case let count = read(ends[0], &chunk, chunk.count), count > 0 { received += count }
    close(ends[0])
    #expect(received == text.utf8.count)
  }
}

@Suite("Progress is shown")
struct ProgressBarTests {
  /// A clock that stands still until it is moved.
  final class Clock: Sendable {
    private let offset = Mutex(Duration.zero)
    private let start = ContinuousClock.now
    func move(_ duration: Duration) { offset.withLock { $0 += duration } }
    var now: ContinuousClock.Instant { start + offset.withLock { $0 } }
  }

  @Test("only on a terminal")
  func silent() {
    let messages = MemoryWriter()
    let bar = ProgressBar(
      "Submitting", total: 10, console: Console(output: MemoryWriter(), messages: messages))
    bar.advance()
    bar.finish()
    #expect(messages.text == "")
  }

  @Test("at most ten times a second, and once more at the end")
  func paced() {
    let messages = MemoryWriter()
    let clock = Clock()
    let bar = ProgressBar(
      "Submitting", total: 10,
      console: Console(
        output: MemoryWriter(), messages: messages, messagesTerminal: Terminal(isTerminal: true, width: 44)),
      now: { clock.now })
    for _ in 1...5 { bar.advance() }
    #expect(messages.text == "\rSubmitting [##-------------------] 1/10 10%\u{1B}[K")
    clock.move(.milliseconds(99))
    bar.advance()
    clock.move(.milliseconds(1))
    bar.advance()
    bar.advance(by: 2)
    bar.finish()
    bar.advance()
    bar.finish()
    let drawn = messages.text.split(separator: "\r")
    #expect(drawn.count == 3)
    #expect(drawn.last?.hasSuffix(" 9/10 90%\u{1B}[K\n") == true)
  }

  @Test("without a total it counts, and no line is wider than the terminal")
  func counting() {
    let messages = MemoryWriter()
    let bar = ProgressBar(
      "Reading a folder with a long name", total: nil,
      console: Console(
        output: MemoryWriter(), messages: messages, messagesTerminal: Terminal(isTerminal: true, width: 20)))
    bar.update(done: 12, total: nil)
    #expect(messages.text == "\rReading a folder w…\u{1B}[K")
  }
}
