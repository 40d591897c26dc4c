import Testing

@testable import CommandLineTool

@Suite("A screen that is drawn anew")
struct ScreenTests {
  private func drawn(height: Int, _ text: String) throws -> String {
    let writer = MemoryWriter()
    let screen = Screen(
      Console(
        output: writer, messages: MemoryWriter(),
        outputTerminal: Terminal(isTerminal: true, width: 40, height: height)))
    try screen.draw { terminal in
      #expect(terminal.width == 40)
      return text
    }
    return writer.text
  }

  @Test("begins at home, and leaves nothing of what was there before")
  func draw() throws {
    #expect(try drawn(height: 5, "a\n\nb\n") == "\u{1B}[Ha\u{1B}[K\r\n\u{1B}[K\r\nb\u{1B}[K\u{1B}[J")
  }

  @Test("is as high as the window, and says how much is missing")
  func height() throws {
    let text = try drawn(height: 3, "1\n2\n3\n4\n5\n")
    #expect(text.contains("2\u{1B}[K\r\n... 3 more lines: make the window higher\u{1B}[K\u{1B}[J"))
    #expect(try drawn(height: 3, "1\n2\n3\n").contains("3\u{1B}[K\u{1B}[J"))
  }

  @Test("gives back the screen, the cursor and the wrapping of lines")
  func close() throws {
    let writer = MemoryWriter()
    let screen = Screen(Console(output: writer, messages: MemoryWriter()))
    try screen.open()
    let opened = writer.text
    screen.close()
    let closed = writer.text.dropFirst(opened.count)
    for mode in ["?1049", "?25", "?7"] {
      let isOn = mode == "?1049"
      #expect(opened.contains("\u{1B}[\(mode)\(isOn ? "h" : "l")"))
      #expect(closed.contains("\u{1B}[\(mode)\(isOn ? "l" : "h")"))
    }
  }
}
