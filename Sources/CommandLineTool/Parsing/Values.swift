import Support

/// What a command was given, from whatever source, each value checked before the command ran.
public struct Values: Sendable {
  struct Resolved: Sendable {
    let texts: [String]
    let source: ValueSource
  }

  let path: [String]
  let resolved: [String: Resolved]

  /// An option's value. Throws only where the command does not define the option.
  public subscript<Value>(_ option: Option<Value>) -> Value {
    get throws(UsageError) {
      let found = try look(up: option.definition)
      do {
        return try option.decode(found.texts)
      } catch {
        throw invalid(option.definition, found, error)
      }
    }
  }

  /// An argument's value. Throws only where the command does not define the argument.
  public subscript<Value>(_ argument: Argument<Value>) -> Value {
    get throws(UsageError) {
      let found = try look(up: argument.definition)
      do {
        return try argument.decode(found.texts)
      } catch {
        throw invalid(argument.definition, found, error)
      }
    }
  }

  /// A switch's value. Throws only where the command does not define the switch.
  public subscript(_ flag: Flag) -> Bool {
    get throws(UsageError) {
      let found = try look(up: flag.definition)
      return found.texts.last.flatMap(Flag.value(of:)) ?? flag.standard
    }
  }

  /// Where an input's value came from; `.absent` too for one that the command does not define.
  public func source(of input: some Input) -> ValueSource {
    resolved[input.definition.identity]?.source ?? .absent
  }

  private func look(up definition: InputDefinition) throws(UsageError) -> Resolved {
    guard let found = resolved[definition.identity] else {
      throw UsageError(.undefinedInput(definition.spelling), path: path)
    }
    return found
  }

  private func invalid(_ definition: InputDefinition, _ found: Resolved, _ error: ValueError) -> UsageError {
    let text = found.texts.last ?? ""
    return UsageError(
      .invalidValue(input: definition.spelling, text: text, reason: error.reason, source: found.source),
      path: path)
  }
}

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

  /// The source as a message names it.
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
