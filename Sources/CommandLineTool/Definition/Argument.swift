/// A value known by its position: `submit photo.jpg`.
public struct Argument<Value: Sendable>: Input {
  /// What the parser and the help know of it.
  public let definition: InputDefinition
  let decode: @Sendable ([String]) throws(ValueError) -> Value

  /// An argument that must be given.
  public init(_ name: String, _ format: ValueFormat<Value>, help: String) {
    decode = { (texts: [String]) throws(ValueError) -> Value in
      guard let text = texts.last else { throw ValueError("is missing") }
      return try format.parse(text)
    }
    definition = Self.define(name, format, help) { $0.isRequired = true }
  }

  /// An argument that may be left out.
  public init<Wrapped>(optional name: String, _ format: ValueFormat<Wrapped>, help: String)
  where Value == Wrapped? {
    decode = { (texts: [String]) throws(ValueError) -> Wrapped? in
      guard let text = texts.last else { return nil }
      return try format.parse(text)
    }
    definition = Self.define(name, format, help) { _ in }
  }

  /// As many arguments as are left, at least `minimum`; must be the last of its command.
  public init<Element>(
    repeating name: String, _ format: ValueFormat<Element>, minimum: Int = 0, help: String
  ) where Value == [Element] {
    decode = { (texts: [String]) throws(ValueError) -> [Element] in
      var values: [Element] = []
      for text in texts { values.append(try format.parse(text)) }
      return values
    }
    definition = Self.define(name, format, help) {
      $0.isRepeating = true
      $0.minimum = minimum
      $0.isRequired = minimum > 0
    }
  }

  private static func define<Single>(
    _ name: String, _ format: ValueFormat<Single>, _ help: String,
    _ adjust: (inout InputDefinition) -> Void
  ) -> InputDefinition {
    var definition = InputDefinition(role: .argument, name: name, help: help, check: format.firstFault)
    definition.valueName = format.name
    definition.completion = format.completion
    adjust(&definition)
    return definition
  }
}
