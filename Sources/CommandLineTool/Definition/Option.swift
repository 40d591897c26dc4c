/// An option with a value: `--concurrency 64`.
///
/// Its value is taken from the command line, else from the environment variable, else from the
/// configuration file, else it is the default.
public struct Option<Value: Sendable>: Input {
  /// What the parser and the help know of it.
  public let definition: InputDefinition
  let decode: @Sendable ([String]) throws(ValueError) -> Value

  /// An option with a default.
  public init(
    _ name: String, short: Character? = nil, _ format: ValueFormat<Value>, default standard: Value,
    valueName: String? = nil, environment: String? = nil, key: String? = nil, help: String,
    hidden: Bool = false
  ) {
    decode = { (texts: [String]) throws(ValueError) -> Value in
      guard let text = texts.last else { return standard }
      return try format.parse(text)
    }
    definition = Self.define(
      name, short, format, valueName, environment, key, help, hidden,
      { $0.standard = format.text(standard) })
  }

  /// An option that may be absent.
  public init<Wrapped>(
    _ name: String, short: Character? = nil, _ format: ValueFormat<Wrapped>, valueName: String? = nil,
    environment: String? = nil, key: String? = nil, help: String, hidden: Bool = false
  ) where Value == Wrapped? {
    decode = format.optional
    definition = Self.define(name, short, format, valueName, environment, key, help, hidden)
  }

  /// An option that must be given, by any of its sources.
  public init(
    required name: String, short: Character? = nil, _ format: ValueFormat<Value>,
    valueName: String? = nil, environment: String? = nil, key: String? = nil, help: String,
    hidden: Bool = false
  ) {
    decode = format.required
    definition = Self.define(
      name, short, format, valueName, environment, key, help, hidden, { $0.isRequired = true })
  }

  /// An option that may be given any number of times; the environment and the configuration file give
  /// several values separated by commas.
  public init<Element>(
    repeating name: String, short: Character? = nil, _ format: ValueFormat<Element>,
    valueName: String? = nil, environment: String? = nil, key: String? = nil, help: String,
    hidden: Bool = false
  ) where Value == [Element] {
    decode = format.all
    definition = Self.define(
      name, short, format, valueName, environment, key, help, hidden, { $0.isRepeating = true })
  }

  private static func define<Single>(
    _ name: String, _ short: Character?, _ format: ValueFormat<Single>, _ valueName: String?,
    _ environment: String?, _ key: String?, _ help: String, _ hidden: Bool,
    _ adjust: (inout InputDefinition) -> Void = { _ in }
  ) -> InputDefinition {
    var definition = InputDefinition(role: .option, name: name, help: help, check: format.firstFault)
    definition.short = short
    definition.valueName = valueName ?? format.name
    definition.environment = environment
    definition.key = key
    definition.isHidden = hidden
    definition.completion = format.completion
    adjust(&definition)
    return definition
  }
}

extension ValueFormat {
  /// The last of the texts as a value, of which there has to be one.
  @Sendable func required(_ texts: [String]) throws(ValueError) -> Value {
    guard let text = texts.last else { throw ValueError("is missing") }
    return try parse(text)
  }

  /// The last of the texts as a value; nil where there is none.
  @Sendable func optional(_ texts: [String]) throws(ValueError) -> Value? {
    guard let text = texts.last else { return nil }
    return try parse(text)
  }

  /// Each of the texts as a value.
  @Sendable func all(_ texts: [String]) throws(ValueError) -> [Value] {
    var values: [Value] = []
    for text in texts { values.append(try parse(text)) }
    return values
  }

  /// The first of the texts that this format refuses.
  @Sendable func firstFault(_ texts: [String]) -> (text: String, error: ValueError)? {
    for text in texts {
      do {
        _ = try parse(text)
      } catch {
        return (text, error)
      }
    }
    return nil
  }
}

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
