import Support

/// Gives each token to the definition it belongs to. Values are not looked at yet.
struct Matcher {
  private(set) var scope: Scope
  /// The texts given for each option and flag, by identity.
  private(set) var given: [String: [String]] = [:]
  private(set) var positional: [String] = []
  /// Set where help, the version and the like were asked for.
  private(set) var page: ToolPage?
  private var tokens: ArraySlice<Token>

  init(root: Command, tokens: [Token]) throws(UsageError) {
    scope = Scope(root: root)
    self.tokens = tokens[...]
    while page == nil, let token = self.tokens.popFirst() {
      switch token {
      case .long(let name, let value): try matchLong(name, value)
      case .short(let letters): try matchShort(letters)
      case .bare(let word): try matchBare(word)
      case .literal(let word): positional.append(word)
      }
    }
  }

  private mutating func matchBare(_ word: String) throws(UsageError) {
    let command = scope.command
    guard command.arguments.isEmpty else { return positional.append(word) }
    if word == "help" { return try matchHelp() }
    if scope.commands.count == 1, word == "completions",
      !command.subcommands.contains(where: { $0.name == word })
    {
      return try matchCompletions()
    }
    guard !command.subcommands.isEmpty else { return positional.append(word) }
    scope.enter(try scope.subcommand(word))
  }

  private mutating func matchLong(_ name: String, _ value: String?) throws(UsageError) {
    if let option = scope.option(named: name) {
      if option.role == .option { return try take(option, value, as: option.spelling) }
      guard value == nil else { throw scope.error(.unexpectedValue(flag: option.spelling)) }
      return given[option.identity] = ["true"]
    }
    if let flag = scope.inverted(name) {
      guard value == nil else { throw scope.error(.unexpectedValue(flag: "--\(name)")) }
      return given[flag.identity] = ["false"]
    }
    switch name {
    case "help": try matchHelp()
    case "man": page = .manual(scope.path)
    case "version" where scope.commands.count == 1: page = .version
    default:
      let typed = "--\(name)"
      throw scope.error(.unknownOption(typed, suggestion: nearest(to: typed, among: scope.spellings)))
    }
  }

  private mutating func matchShort(_ letters: String) throws(UsageError) {
    var rest = letters[...]
    if Token.isNumber(letters), rest.first.flatMap(scope.option(short:)) == nil {
      return positional.append("-" + letters)
    }
    while let letter = rest.popFirst() {
      guard let option = scope.option(short: letter) else {
        if letter == "h" { return try matchHelp() }
        throw scope.error(.unknownOption("-\(letter)", suggestion: nil))
      }
      if option.role == .flag {
        given[option.identity] = ["true"]
      } else {
        let attached = rest.first == "=" ? rest.dropFirst() : rest
        return try take(option, rest.isEmpty ? nil : String(attached), as: "-\(letter)")
      }
    }
  }

  private mutating func take(
    _ option: InputDefinition, _ attached: String?, as spelling: String
  ) throws(UsageError) {
    var text = attached
    if text == nil, let next = tokens.first?.asValue {
      text = next
      tokens.removeFirst()
    }
    guard let text else {
      throw scope.error(.missingValue(option: spelling, valueName: option.valueName))
    }
    if !option.isRepeating, given[option.identity] != nil {
      throw scope.error(.repeatedOption(option.spelling))
    }
    given[option.identity, default: []].append(text)
  }

  /// `help jobs list` and `--help` alike: the words that follow lead to the command that is asked about.
  private mutating func matchHelp() throws(UsageError) {
    for token in tokens {
      if token == .long(name: "man", value: nil) { return page = .manual(scope.path) }
      if case .bare("options") = token, scope.commands.count == 1 { return page = .options }
      if case .bare(let word) = token, !scope.command.subcommands.isEmpty {
        scope.enter(try scope.subcommand(word))
      }
    }
    page = .help(scope.path)
  }

  private mutating func matchCompletions() throws(UsageError) {
    let names = Shell.allCases.map(\.rawValue)
    if tokens.first == .long(name: "help", value: nil) || tokens.first == .short("h") {
      return page = .help(scope.path)
    }
    guard let word = tokens.first?.asValue else {
      throw scope.error(.missingArgument("<\(names.joined(separator: "|"))> after completions"))
    }
    guard let shell = Shell(rawValue: word) else {
      let reason = "is not one of \(names.joined(separator: ", "))"
      throw scope.error(
        .invalidValue(input: "completions", text: word, reason: reason, source: .commandLine))
    }
    page = .completions(shell)
  }
}

/// The commands named so far, and what may be given after them.
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

/// One word of the command line, before it is known what the command defines.
enum Token: Equatable {
  /// `--name` or `--name=value`.
  case long(name: String, value: String?)
  /// `-abc`, without the dash; also a negative number.
  case short(String)
  /// Anything else, and all that follows `--`.
  case bare(String)
  /// After `--`: never a subcommand.
  case literal(String)

  static func split(_ arguments: [String]) -> [Token] {
    guard let end = arguments.firstIndex(of: "--") else { return arguments.map(Token.init) }
    return arguments[..<end].map(Token.init) + arguments[(end + 1)...].map(Token.literal)
  }

  private init(_ word: String) {
    if word.hasPrefix("--") {
      let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      self = .long(name: String(parts[0]), value: parts.count > 1 ? String(parts[1]) : nil)
    } else if word.hasPrefix("-"), word != "-" {
      self = .short(String(word.dropFirst()))
    } else {
      self = .bare(word)
    }
  }

  /// The word, where it can stand as the value of the option before it.
  var asValue: String? {
    switch self {
    case .bare(let word): word
    case .short(let letters) where Token.isNumber(letters): "-" + letters
    case .long, .short, .literal: nil
    }
  }

  static func isNumber(_ letters: String) -> Bool {
    guard let first = letters.first else { return false }
    return ("0"..."9").contains(first) || (first == "." && Double(letters) != nil)
  }
}
