import Glibc

/// What is known of the place where text appears.
public struct Terminal: Sendable, Equatable {
  /// Whether a person may be watching.
  public let isTerminal: Bool
  /// In columns.
  public let width: Int
  /// Whether colours are wanted.
  public let colour: Bool

  /// Makes a description of your own.
  public init(isTerminal: Bool, width: Int = 80, colour: Bool = false) {
    self.isTerminal = isTerminal
    self.width = width
    self.colour = colour
  }

  /// A file or a pipe: 80 columns, no colour.
  public static let plain = Terminal(isTerminal: false)

  /// Looks at a descriptor. `NO_COLOR` (not empty) and `TERM=dumb` turn colours off; `COLUMNS` overrides the width.
  public static func detect(descriptor: Int32, environment: [String: String]) -> Terminal {
    guard isatty(descriptor) == 1 else {
      return Terminal(isTerminal: false, width: columns(environment) ?? 80)
    }
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    return Terminal(
      isTerminal: true,
      width: columns(environment) ?? (isKnown ? max(20, Int(size.ws_col)) : 80),
      colour: wantsColour(environment))
  }

  static func wantsColour(_ environment: [String: String]) -> Bool {
    (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }

  static func columns(_ environment: [String: String]) -> Int? {
    environment["COLUMNS"].flatMap { Int($0) }.flatMap { (20...1000).contains($0) ? $0 : nil }
  }
}
