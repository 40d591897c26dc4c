/// A command, defined once: the parser, the help, the completion scripts and the manual page read it.
public struct Command: Sendable {
  /// The word that calls it.
  public let name: String
  /// What it does, in one sentence.
  public let abstract: String
  /// More about it; paragraphs are separated by an empty line.
  public let discussion: String
  /// Shown first in its help.
  public let examples: [Example]
  /// Its options and flags, which its subcommands take too, and its arguments.
  public let inputs: [any Input]
  /// Commands below it.
  public let subcommands: [Command]
  /// The exit codes named in its help.
  public let exitCodes: [ExitCode]
  /// Whether help and completion leave it out.
  public let isHidden: Bool
  let run: (@Sendable (Context) async throws -> ExitCode)?

  /// Defines a command. `run` may be left out where subcommands do the work.
  public init(
    _ name: String, abstract: String, discussion: String = "", examples: [Example] = [],
    inputs: [any Input] = [], subcommands: [Command] = [], exitCodes: [ExitCode] = [],
    hidden: Bool = false, run: (@Sendable (Context) async throws -> ExitCode)? = nil
  ) {
    self.name = name
    self.abstract = abstract
    self.discussion = discussion
    self.examples = examples
    self.inputs = inputs
    self.subcommands = subcommands
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

/// A command that can be typed as it stands, and what it does.
public struct Example: Sendable, Equatable {
  /// The whole command, with the program's name.
  public let command: String
  /// What it does, in a few words.
  public let explanation: String

  /// Makes an example.
  public init(_ command: String, _ explanation: String) {
    self.command = command
    self.explanation = explanation
  }
}
