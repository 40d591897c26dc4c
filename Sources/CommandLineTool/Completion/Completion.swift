/// A shell for which a completion script can be written.
public enum Shell: String, Sendable, CaseIterable {
  /// GNU Bash.
  case bash
  /// The Z shell.
  case zsh
  /// fish.
  case fish

  func script(for root: Command) -> String {
    let scopes = CompletionScope.all(below: root)
    return switch self {
    case .bash: BashCompletion(name: root.name, scopes: scopes).text
    case .zsh: ZshCompletion(name: root.name, scopes: scopes).text
    case .fish: FishCompletion(name: root.name, scopes: scopes).text
    }
  }
}

/// The text as one word of a POSIX shell.
func shellQuoted(_ text: String) -> String {
  "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}

/// What may be typed after the names of one command: the same for every shell.
struct CompletionScope {
  struct Word {
    let text: String
    let help: String
  }

  /// "analysisctl jobs list".
  let path: String
  let subcommands: [Word]
  /// The options of the command and of those above it, with the built-in ones.
  let options: [InputDefinition]
  let argument: CompletionHint
  let isRoot: Bool

  static func all(below root: Command) -> [CompletionScope] {
    scopes(root, path: [], above: [])
  }

  private static func scopes(
    _ command: Command, path: [String], above: [InputDefinition]
  ) -> [CompletionScope] {
    let path = path + [command.name]
    let inScope = above + command.options.filter { !$0.isHidden }
    var words = command.visibleSubcommands.map { Word(text: $0.name, help: $0.abstract) }
    if path.count == 1, command.arguments.isEmpty {
      words.append(Word(text: "completions", help: "Print a completion script."))
    }
    if !command.subcommands.isEmpty { words.append(Word(text: "help", help: "Show help.")) }
    let hints = command.arguments.map(\.completion)
    let scope = CompletionScope(
      path: path.joined(separator: " "), subcommands: words, options: inScope,
      argument: hints.first { $0 != .none } ?? .none, isRoot: path.count == 1)
    return [scope] + command.visibleSubcommands.flatMap { scopes($0, path: path, above: inScope) }
  }

  /// Every spelling of the options, with what they do.
  var spellings: [Word] {
    var words: [Word] = []
    for option in options {
      words.append(Word(text: "--\(option.name)", help: option.help))
      if option.isInverted { words.append(Word(text: "--no-\(option.name)", help: option.help)) }
    }
    words.append(Word(text: "--help", help: "Show help."))
    if isRoot { words.append(Word(text: "--version", help: "Show the version.")) }
    return words
  }

  /// The options that take a value, with every way to spell them.
  var valued: [(spellings: [String], hint: CompletionHint)] {
    options.filter { $0.role == .option }.map { option in
      (["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? []), option.completion)
    }
  }
}
