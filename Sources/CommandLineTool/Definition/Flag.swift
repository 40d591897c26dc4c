/// A switch: `--json`. With `inverted`, `--no-json` turns it off again.
public struct Flag: Input {
  /// What the parser and the help know of it.
  public let definition: InputDefinition
  let standard: Bool

  /// Makes a switch; `standard` is its value when nothing sets it.
  public init(
    _ name: String, short: Character? = nil, inverted: Bool = false, default standard: Bool = false,
    environment: String? = nil, key: String? = nil, help: String, hidden: Bool = false
  ) {
    self.standard = standard
    var definition = InputDefinition(
      role: .flag, name: name, help: help,
      check: { texts in
        texts.first { Flag.value(of: $0) == nil }.map { ($0, ValueError("is neither true nor false")) }
      })
    definition.short = short
    definition.isInverted = inverted
    definition.standard = inverted ? (standard ? "on" : "off") : nil
    definition.environment = environment
    definition.key = key
    definition.isHidden = hidden
    self.definition = definition
  }

  /// What a word in the environment or the configuration file means for a switch.
  static func value(of text: String) -> Bool? {
    switch text.lowercased() {
    case "true", "yes", "on", "1": true
    case "false", "no", "off", "0": false
    default: nil
    }
  }
}
