import Glibc

/// What is known of where text appears.
public struct Terminal: Sendable, Equatable {
  /// Whether a person may be watching.
  public let isTerminal: Bool
  /// In columns.
  public private(set) var width: Int
  /// In lines.
  public private(set) var height: Int
  /// Whether colours are wanted.
  public let colour: Bool
  /// The descriptor whose window can be measured again; nil where there is none.
  private var descriptor: Int32?
  /// Whether `COLUMNS` says the width, whatever the window has.
  private var hasGivenWidth = false

  /// Makes a description of your own.
  public init(isTerminal: Bool, width: Int = 80, height: Int = 24, colour: Bool = false) {
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
    /// Heavier.
    case bold = "1"
    /// Fainter.
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

  /// The text, heavier.
  func bold(_ text: String) -> String { self(text, .bold) }
  /// The text, fainter.
  public func dim(_ text: String) -> String { self(text, .dim) }
  /// The text in red.
  public func red(_ text: String) -> String { self(text, .red) }
  /// The text in orange.
  public func orange(_ text: String) -> String { self(text, .orange) }
  /// The text in yellow.
  public func yellow(_ text: String) -> String { self(text, .yellow) }
  /// The text in green.
  public func green(_ text: String) -> String { self(text, .green) }
}
