/// A command that can be typed as it stands, and what it does.
public struct Example: Sendable, Equatable {
  /// The whole command, with the program's name.
  public let command: String
  /// What it does, in a few words.
  public let explanation: String

  /// Makes an example.
  public init(_ command: String, _ explanation: String) {
    self.command = command
    self.explanation = explanation
  }
}
