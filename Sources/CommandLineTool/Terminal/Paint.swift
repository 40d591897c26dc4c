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
  public func bold(_ text: String) -> String { self(text, .bold) }
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
