import Formatting

/// Where a value came from.
public enum ValueSource: Sendable, Equatable, CustomStringConvertible {
  /// It was typed.
  case commandLine
  /// An environment variable, by name.
  case environment(String)
  /// A configuration file and the key in it.
  case configuration(path: String, key: String)
  /// The default.
  case standard
  /// Nothing gave it and there is no default.
  case absent

  /// The source in words.
  public var description: String {
    switch self {
    case .commandLine: "the command line"
    case .environment(let name): "the environment variable \(name)"
    case .configuration(let path, let key): "\(key) in \(printable(path))"
    case .standard: "the default"
    case .absent: "nothing"
    }
  }
}
