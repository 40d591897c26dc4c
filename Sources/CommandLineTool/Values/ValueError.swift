/// Why a text is not a value of the wanted kind, in words for the person who typed it.
public struct ValueError: Error, Sendable, Equatable {
  /// What is wrong and what is accepted, to stand after the text itself: "is not a whole number".
  public let reason: String

  /// Makes an error with its reason.
  public init(_ reason: String) {
    self.reason = reason
  }
}
