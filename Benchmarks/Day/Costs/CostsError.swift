/// Why the costs of a job could not be read.
public struct CostsError: Error, Equatable, CustomStringConvertible {
  /// What is missing.
  public let message: String
  /// What to run to get it.
  public let advice: String

  /// The message and the advice.
  public var description: String { "\(message) \(advice)" }
}
