/// Gives each token to the definition it belongs to. Values are not looked at yet.
struct Matcher {
  private(set) var scope: Scope
  /// The texts given for each option and flag, by identity.
  private(set) var given: [String: [String]] = [:]
  private(set) var positional: [String] = []
  /// Set where help, the version and the like were asked for.
  private(set) var page: Page?
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
    case "man": page = .manual
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
      if token == .long(name: "man", value: nil) { return page = .manual }
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
