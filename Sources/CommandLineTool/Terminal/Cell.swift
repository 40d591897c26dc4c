import Formatting

/// One cell of a table.
public struct Cell: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
  let text: String
  let colour: Paint.Colour?

  /// A text, perhaps in a colour.
  public init(_ text: String, _ colour: Paint.Colour? = nil) {
    self.text = printable(text)
    self.colour = colour
  }

  /// A number, perhaps in a colour.
  public init(_ number: some BinaryInteger, _ colour: Paint.Colour? = nil) {
    self.init(String(number), colour)
  }

  /// A text.
  public init(stringLiteral text: String) {
    self.init(text)
  }
}
