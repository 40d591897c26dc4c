import Support

/// A text on a terminal that is drawn anew in its place, on the terminal's other screen: what was there before comes
/// back when it is closed.
public struct Screen: Sendable {
  private let console: Console

  /// A screen on standard output.
  public init(_ console: Console) {
    self.console = console
  }

  /// Shows the other screen, without a cursor; what is wider than the window is cut by the terminal.
  public func open() throws(WriteError) {
    try console.output.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
  }

  /// Draws a text of whole lines in place of the one before, as high as the window is now.
  public func draw(_ text: (Terminal) -> String) throws(WriteError) {
    let terminal = console.outputTerminal.measured()
    var lines = text(terminal).split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    if lines.count > terminal.height {
      let shown = max(0, terminal.height - 1)
      lines = lines.prefix(shown) + ["... \(lines.count - shown) more lines: make the window higher"]
    }
    // Home, the rest of each line erased, and what is below: no screen is empty in between.
    try console.output.write("\u{1B}[H" + lines.joined(separator: "\u{1B}[K\r\n") + "\u{1B}[K\u{1B}[J")
  }

  /// Shows the screen that was there before.
  public func close() {
    try? console.output.write("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
  }
}
