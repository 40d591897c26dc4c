/// Why a test could not be set up.
public struct TestSupportError: Error, CustomStringConvertible {
  /// What went wrong.
  public let description: String

  /// An error with these words.
  public init(_ description: String) {
    self.description = description
  }
}
