import Support

/// Finds the texts of every input: the command line before the environment before the configuration file
/// before the default; and checks them.
struct Resolver {
  let scope: Scope
  let given: [String: [String]]
  let positional: [String]
  let environment: [String: String]
  let configuration: ConfigurationValues

  init(_ matcher: Matcher, environment: [String: String], configuration: ConfigurationValues) {
    scope = matcher.scope
    given = matcher.given
    positional = matcher.positional
    self.environment = environment
    self.configuration = configuration
  }

  func values() throws(UsageError) -> Values {
    var resolved: [String: Values.Resolved] = [:]
    for option in scope.options { resolved[option.identity] = try resolve(option) }
    try resolveArguments(into: &resolved)
    return Values(path: scope.path, resolved: resolved)
  }

  private func resolve(_ option: InputDefinition) throws(UsageError) -> Values.Resolved {
    let found = lookUp(option)
    if found.texts.isEmpty, option.isRequired {
      throw scope.error(
        .missingOption(option.spelling, environment: option.environment, key: option.key))
    }
    return try checked(option, found)
  }

  func lookUp(_ option: InputDefinition) -> Values.Resolved {
    if let texts = given[option.identity] { return .init(texts: texts, source: .commandLine) }
    // An empty variable counts as unset, as a unit file or a compose file writes it for "no value".
    if let name = option.environment, let text = environment[name], !text.isEmpty {
      return .init(texts: split(text, option), source: .environment(name))
    }
    if let key = option.key, let text = configuration.values[key] {
      return .init(
        texts: split(text, option), source: .configuration(path: configuration.path, key: key))
    }
    let hasDefault = option.standard != nil || option.role == .flag
    return .init(texts: [], source: hasDefault ? .standard : .absent)
  }

  private func split(_ text: String, _ option: InputDefinition) -> [String] {
    guard option.isRepeating else { return [text] }
    return text.split(separator: ",").map { part in
      String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
  }

  private func resolveArguments(into resolved: inout [String: Values.Resolved]) throws(UsageError) {
    var rest = positional[...]
    for argument in scope.command.arguments {
      let texts = argument.isRepeating ? Array(rest) : Array(rest.prefix(1))
      rest = rest.dropFirst(texts.count)
      if texts.count < (argument.isRepeating ? argument.minimum : argument.isRequired ? 1 : 0) {
        throw scope.error(.missingArgument(argument.spelling))
      }
      let found = Values.Resolved(texts: texts, source: texts.isEmpty ? .absent : .commandLine)
      resolved[argument.identity] = try checked(argument, found)
    }
    if let extra = rest.first { throw scope.error(.unexpectedArgument(extra)) }
  }

  private func checked(
    _ definition: InputDefinition, _ found: Values.Resolved
  ) throws(UsageError) -> Values.Resolved {
    guard let (text, error) = definition.check(found.texts) else { return found }
    throw scope.error(
      .invalidValue(
        input: definition.spelling, text: text, reason: error.reason, source: found.source))
  }
}

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
  case commandLine
  /// An environment variable, by name.
  case environment(String)
  /// A configuration file and the key in it.
  case configuration(path: String, key: String)
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
