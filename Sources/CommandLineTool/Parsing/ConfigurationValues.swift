/// What a configuration file says, as text by key. Unknown keys are its reader's concern.
public struct ConfigurationValues: Sendable, Equatable {
  /// The file, for messages.
  public let path: String
  /// Texts by key.
  public let values: [String: String]

  /// Makes the values of a file.
  public init(path: String, values: [String: String]) {
    self.path = path
    self.values = values
  }

  /// No configuration file.
  public static let none = ConfigurationValues(path: "", values: [:])
}
