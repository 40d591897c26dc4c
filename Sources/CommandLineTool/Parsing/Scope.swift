/// The commands named so far, and what may be given at this place.
struct Scope {
  private(set) var commands: [Command]

  init(root: Command) {
    commands = [root]
  }

  var command: Command { commands[commands.count - 1] }
  var path: [String] { commands.map(\.name) }
  /// Every option and flag of the command and of those above it.
  var options: [InputDefinition] { commands.flatMap(\.options) }

  mutating func enter(_ command: Command) {
    commands.append(command)
  }

  func option(named name: String) -> InputDefinition? {
    options.first { $0.name == name }
  }

  /// The switch that `--no-x` turns off.
  func inverted(_ name: String) -> InputDefinition? {
    guard name.hasPrefix("no-") else { return nil }
    return options.first { $0.isInverted && $0.name == name.dropFirst(3) }
  }

  func option(short: Character) -> InputDefinition? {
    options.first { $0.short == short }
  }

  /// Every spelling that is accepted here, for suggestions.
  var spellings: [String] {
    let visible = options.filter { !$0.isHidden }
    return visible.map(\.spelling) + visible.filter(\.isInverted).map { "--no-\($0.name)" } + ["--help"]
      + (commands.count == 1 ? ["--version"] : [])
  }

  func subcommand(_ name: String) throws(UsageError) -> Command {
    if let found = command.subcommands.first(where: { $0.name == name }) { return found }
    var names = command.visibleSubcommands.map(\.name) + ["help"]
    if commands.count == 1 { names.append("completions") }
    throw error(.unknownSubcommand(name, suggestion: nearest(to: name, among: names)))
  }

  func error(_ problem: UsageError.Problem) -> UsageError {
    UsageError(problem, path: path)
  }
}
