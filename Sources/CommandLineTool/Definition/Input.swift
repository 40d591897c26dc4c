/// Something a command takes: an `Option`, a `Flag` or an `Argument`.
public protocol Input: Sendable {
  /// What the parser, the help, the completion scripts and the manual page know of it.
  var definition: InputDefinition { get }
}

/// What is known of an input without its type; made by `Option`, `Flag` and `Argument`.
public struct InputDefinition: Sendable {
  enum Role: Sendable {
    case option
    case flag
    case argument
  }

  let role: Role
  /// Without dashes.
  let name: String
  var short: Character?
  var valueName = ""
  let help: String
  /// The default as it would be typed.
  var standard: String?
  var environment: String?
  var key: String?
  var isRequired = false
  var isRepeating = false
  /// How many texts a repeated argument needs.
  var minimum = 0
  var isInverted = false
  var isHidden = false
  var completion = CompletionHint.none
  /// Says what is wrong with the given texts. Only asked when there are some.
  let check: @Sendable ([String]) -> (text: String, error: ValueError)?

  /// How the person who typed it knows it: `--user`, `<file>`.
  public var spelling: String { role == .argument ? "<\(name)>" : "--\(name)" }

  /// The name under which parsed texts are kept: an argument may be called like an option.
  var identity: String { spelling }
}
