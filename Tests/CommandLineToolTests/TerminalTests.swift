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
    var table = Table([.init(text.text)])
    table.add([Cell(text.text)])
    #expect(HostileText.found(in: table.render(), except: "\n") == [])
    let messages = MemoryWriter()
    Console(output: MemoryWriter(), messages: messages).say("one\n\(text.text)")
    #expect(messages.text.hasPrefix("one\na"))
    #expect(HostileText.found(in: messages.text, except: "\n") == [])
  }

  @Test("a table is aligned: texts left, numbers right, wide characters by the columns they take")
  func table() {
    var table = Table([.init("user"), .init("used", alignment: .right), .init("note")])
    table.add(["a", Cell(7), "x"])
    table.add(["漢字", Cell(1234), ""])
    table.add(["e\u{301}", Cell(-5), "y\u{1B}[2J"])
    #expect(table.render() == "user  used  note\na        7  x\n漢字  1234  \ne\u{301}       -5  y[2J\n")
    #expect(table.count == 3)
  }

  @Test("a table that is too wide is cut where it may be")
  func narrow() {
    var table = Table([.init("id"), .init("reason", shrinks: true), .init("n", alignment: .right)])
    table.add(["17", "a very long reason indeed", Cell(3)])
    #expect(table.render(width: 20) == "id  reason         n\n17  a very long …  3\n")
    let tiny = table.render(width: 5).split(separator: "\n")
    #expect(tiny.last == "17  a very …  3")
  }

  @Test("what names a row goes on in the next line, after what may be cut or left out")
  func wrapped() {
    var table = Table([
      .init("user", wraps: true), .init("zone", shrinks: true), .init("note", mayGo: true), .init("n"),
    ])
    table.add([Cell("a-very-long-user-of-thirty-char", .red), "Asia/Jakarta", "x", Cell(3)])
    table.add(["u1", "UTC", "", Cell(4)])
    #expect(
      table.render(width: 26) == """
        user           zone      n
        a-very-long-u  Asia/Ja…  3
        ser-of-thirty
        -char
        u1             UTC       4
        Left out, for the terminal
        is too narrow: note.

        """)
    #expect(table.render(width: 26, paint: Paint(true)).contains("\n\u{1B}[31m-char\u{1B}[0m\n"))
    #expect(table.render().split(separator: "\n").count == 3)
  }

  @Test("colours come round the text, and only where they are wanted")
  func colours() {
    var table = Table([.init("band"), .init("n")])
    table.add([Cell("red", .red), "1"])
    #expect(table.render().hasSuffix("red   1\n"))
    #expect(table.render(paint: Paint(true)).hasSuffix("\u{1B}[31mred\u{1B}[0m   1\n"))
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
