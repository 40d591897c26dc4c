/// A command, defined once: the parser, the help, the completion scripts and the manual page read it.
public struct Command: Sendable {
  /// The word that calls it.
  public let name: String
  /// What it does, in one sentence.
  let abstract: String
  /// More about it; paragraphs are separated by an empty line.
  let discussion: String
  /// Shown first in its help.
  let examples: [Example]
  /// Its options and flags, which its subcommands take too, and its arguments.
  let inputs: [any Input]
  let subcommands: [Command]
  /// The headings under which the help shows its subcommands; empty for one list.
  let subjects: [Subject]
  /// The exit codes named in its help.
  let exitCodes: [ExitCode]
  /// Whether help and completion leave it out.
  let isHidden: Bool
  let run: (@Sendable (Context) async throws -> ExitCode)?

  /// Defines a command. `run` may be left out where subcommands do the work.
  public init(
    _ name: String, abstract: String, discussion: String = "", examples: [Example] = [],
    inputs: [any Input] = [], subcommands: [Command] = [], subjects: [Subject] = [],
    exitCodes: [ExitCode] = [], hidden: Bool = false,
    run: (@Sendable (Context) async throws -> ExitCode)? = nil
  ) {
    self.name = name
    self.abstract = abstract
    self.discussion = discussion
    self.examples = examples
    self.inputs = inputs
    self.subcommands = subcommands + subjects.flatMap(\.commands)
    self.subjects = subjects
    self.exitCodes = exitCodes
    isHidden = hidden
    self.run = run
  }

  var options: [InputDefinition] { inputs.map(\.definition).filter { $0.role != .argument } }
  var arguments: [InputDefinition] { inputs.map(\.definition).filter { $0.role == .argument } }
  var visibleSubcommands: [Command] { subcommands.filter { !$0.isHidden } }

  /// Every configuration key that this command or one below it reads.
  public var configurationKeys: Set<String> {
    subcommands.reduce(into: Set(options.compactMap(\.key))) { $0.formUnion($1.configurationKeys) }
  }
}

extension Command {
  /// A heading of the help, and the subcommands under it.
  public struct Subject: Sendable {
    let title: String
    let commands: [Command]

    /// Makes a heading with the subcommands under it.
    public init(_ title: String, _ commands: [Command]) {
      self.title = title
      self.commands = commands
    }
  }
}

/// A command that can be typed as it stands, and what it does.
public struct Example: Sendable, Equatable {
  /// The whole command, with the program's name.
  public let command: String
  /// What it does, in a few words.
  let explanation: String

  /// Makes an example.
  public init(_ command: String, _ explanation: String) {
    self.command = command
    self.explanation = explanation
  }
}

extension Command {
  /// What is contradictory in this definition and those below it; empty when all is well. For tests.
  var definitionFaults: [String] { faults(above: [], path: name) }

  private func faults(above: [InputDefinition], path: String) -> [String] {
    let inScope = above + options
    var found: [String] = []
    for repeated in Self.repeated(inScope.map(\.name)) {
      found.append("\(path): --\(repeated) is defined twice")
    }
    for repeated in Self.repeated(inScope.compactMap(\.short).map(String.init)) {
      found.append("\(path): -\(repeated) is defined twice")
    }
    for repeated in Self.repeated(subcommands.map(\.name)) {
      found.append("\(path): \(repeated) is defined twice")
    }
    for option in options where ["help", "version", "man"].contains(option.name) {
      found.append("\(path): --\(option.name) is built in")
    }
    if !arguments.isEmpty, !subcommands.isEmpty {
      found.append("\(path): has both arguments and subcommands")
    }
    if arguments.dropLast().contains(where: { $0.isRepeating }) {
      found.append("\(path): an argument stands after a repeated one")
    }
    if zip(arguments, arguments.dropFirst()).contains(where: { !$0.isRequired && $1.isRequired }) {
      found.append("\(path): a required argument stands after an optional one")
    }
    if run == nil, subcommands.isEmpty { found.append("\(path): has nothing to run") }
    for option in options where option.isRequired && option.standard != nil {
      found.append("\(path): --\(option.name) is required and has a default")
    }
    return found + subcommands.flatMap { $0.faults(above: inScope, path: "\(path) \($0.name)") }
  }

  private static func repeated(_ names: [String]) -> [String] {
    Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
  }
}

/// A value known by its position: `submit photo.jpg`.
public struct Argument<Value: Sendable>: Input {
  /// What the parser and the help know of it.
  public let definition: InputDefinition
  let decode: @Sendable ([String]) throws(ValueError) -> Value

  /// An argument that must be given.
  public init(_ name: String, _ format: ValueFormat<Value>, help: String) {
    decode = format.required
    definition = Self.define(name, format, help) { $0.isRequired = true }
  }

  /// An argument that may be left out.
  public init<Wrapped>(optional name: String, _ format: ValueFormat<Wrapped>, help: String)
  where Value == Wrapped? {
    decode = format.optional
    definition = Self.define(name, format, help) { _ in }
  }

  /// As many arguments as are left, at least `minimum`; must be the last of its command.
  public init<Element>(
    repeating name: String, _ format: ValueFormat<Element>, minimum: Int = 0, help: String
  ) where Value == [Element] {
    decode = format.all
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
