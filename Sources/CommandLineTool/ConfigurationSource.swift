/// Which option names the configuration file, and who reads it.
public struct ConfigurationSource: Sendable {
  let option: Option<String?>
  let load: @Sendable (_ path: String, _ keys: Set<String>) throws -> ConfigurationValues

  /// Makes a source. `load` gets the path and every key that the tool knows; what it throws is shown, and
  /// the exit code is 64 unless it is a `CommandFailure` with another.
  public init(
    option: Option<String?>,
    load: @escaping @Sendable (_ path: String, _ keys: Set<String>) throws -> ConfigurationValues
  ) {
    self.option = option
    self.load = load
  }
}

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
