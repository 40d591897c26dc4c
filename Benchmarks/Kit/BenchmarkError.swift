/// Why something could not be measured.
public struct BenchmarkError: Error, CustomStringConvertible {
  /// What happened, and what to do about it.
  public let description: String

  /// An error with these words.
  public init(_ description: String) {
    self.description = description
  }
}
