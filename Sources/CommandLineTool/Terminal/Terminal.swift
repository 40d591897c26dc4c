import Glibc
import Support

/// What is known of where text appears.
public struct Terminal: Sendable, Equatable {
  /// Whether a person may be watching.
  public let isTerminal: Bool
  /// In columns.
  public private(set) var width: Int
  /// In lines.
  public private(set) var height: Int
  /// Whether colours are wanted.
  let colour: Bool
  /// The descriptor whose window can be measured again; nil where there is none.
  private var descriptor: Int32?
  /// Whether `COLUMNS` says the width, whatever the window has.
  private var hasGivenWidth = false

  /// Makes a description of your own.
  init(isTerminal: Bool, width: Int = 80, height: Int = 24, colour: Bool = false) {
    self.isTerminal = isTerminal
    self.width = width
    self.height = height
    self.colour = colour
  }

  /// A file or a pipe: 80 columns, no colour.
  public static let plain = Terminal(isTerminal: false)

  /// Looks at a descriptor. `NO_COLOR` (not empty) and `TERM=dumb` turn colours off; `COLUMNS` overrides the width.
  static func detect(descriptor: Int32, environment: [String: String]) -> Terminal {
    guard isatty(descriptor) == 1 else {
      return Terminal(isTerminal: false, width: columns(environment) ?? 80)
    }
    let given = columns(environment)
    var terminal = Terminal(isTerminal: true, width: given ?? 80, colour: wantsColour(environment))
    terminal.descriptor = descriptor
    terminal.hasGivenWidth = given != nil
    return terminal.measured()
  }

  /// The same with the size that its window has now.
  public func measured() -> Terminal {
    var size = winsize()
    guard let descriptor, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return self }
    var terminal = self
    if size.ws_col > 0, !hasGivenWidth { terminal.width = max(20, Int(size.ws_col)) }
    if size.ws_row > 0 { terminal.height = max(2, Int(size.ws_row)) }
    return terminal
  }

  static func wantsColour(_ environment: [String: String]) -> Bool {
    (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }

  static func columns(_ environment: [String: String]) -> Int? {
    environment["COLUMNS"].flatMap { Int($0) }.flatMap { (20...1000).contains($0) ? $0 : nil }
  }
}

/// Colours for a terminal that wants them; else the text as it is.
public struct Paint: Sendable, Equatable {
  /// A colour or weight.
  public enum Colour: String, Sendable, CaseIterable {
    case bold = "1"
    case dim = "2"
    /// Red, as the highest confidence band.
    case red = "31"
    /// Green, as the lowest confidence band.
    case green = "32"
    /// Yellow, as the third confidence band.
    case yellow = "33"
    /// Orange, of the 256 colours.
    case orange = "38;5;208"
  }

  private let isEnabled: Bool

  /// Paints, or does not.
  public init(_ isEnabled: Bool) {
    self.isEnabled = isEnabled
  }

  /// Paints where the terminal wants colours.
  public init(_ terminal: Terminal) {
    isEnabled = terminal.colour
  }

  /// The text in a colour.
  public func callAsFunction(_ text: String, _ colour: Colour) -> String {
    isEnabled && !text.isEmpty ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
  }

  func bold(_ text: String) -> String { self(text, .bold) }
  /// The text, fainter.
  public func dim(_ text: String) -> String { self(text, .dim) }
  /// The text in red.
  public func red(_ text: String) -> String { self(text, .red) }
  /// The text in orange.
  func orange(_ text: String) -> String { self(text, .orange) }
  /// The text in yellow.
  public func yellow(_ text: String) -> String { self(text, .yellow) }
  /// The text in green.
  public func green(_ text: String) -> String { self(text, .green) }
}

/// Where results (standard output) and messages (standard error) go.
public struct Console: Sendable {
  /// For results.
  public let output: any TextWriter
  /// For messages and progress.
  public let messages: any TextWriter
  /// What is behind `output`.
  public let outputTerminal: Terminal
  /// What is behind `messages`.
  public let messagesTerminal: Terminal

  /// Makes a console of your own, for tests.
  init(
    output: any TextWriter, messages: any TextWriter, outputTerminal: Terminal = .plain,
    messagesTerminal: Terminal = .plain
  ) {
    self.output = output
    self.messages = messages
    self.outputTerminal = outputTerminal
    self.messagesTerminal = messagesTerminal
  }

  /// The process's own standard output and standard error.
  static func standard(environment: [String: String]) -> Console {
    Console(
      output: DescriptorWriter(1), messages: DescriptorWriter(2),
      outputTerminal: .detect(descriptor: 1, environment: environment),
      messagesTerminal: .detect(descriptor: 2, environment: environment))
  }

  /// Writes a line of results.
  public func print(_ line: String) throws(WriteError) {
    try output.write(line + "\n")
  }

  /// Writes a message of one or more lines, of which only what is printable is shown. A standard error that cannot be
  /// written to is no reason to stop, so nothing is thrown.
  public func say(_ line: String) {
    try? messages.write(printable(line, keeping: "\n") + "\n")
  }

  /// Writes a message that has its colours, and whose foreign texts are printable already.
  public func show(painted line: String) {
    try? messages.write(line + "\n")
  }
}

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
