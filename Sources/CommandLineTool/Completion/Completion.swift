/// A shell for which a completion script can be written.
public enum Shell: String, Sendable, CaseIterable {
  case bash
  case zsh
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

/// A script that goes through the words before the cursor by the `case` of a POSIX shell.
private protocol CaseCompletion {
  /// The script's variable that has the command's path so far.
  static var path: String { get }
  var name: String { get }
  var scopes: [CompletionScope] { get }

  func offer(_ hint: CompletionHint) -> String
}

extension CaseCompletion {
  fileprivate var function: String {
    "_" + String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
  }

  /// A value is stepped over, so that it is not taken for a subcommand.
  fileprivate var steps: String {
    var lines: [String] = []
    for scope in scopes {
      for (spellings, _) in scope.valued {
        lines.append("      \(pattern(scope, spellings))) (( i++ )) ;;")
      }
    }
    for scope in scopes.dropFirst() {
      lines.append("      \(shellQuoted(scope.path))) \(Self.path)=\(shellQuoted(scope.path)) ;;")
    }
    return lines.joined(separator: "\n")
  }

  fileprivate var values: String {
    var lines: [String] = []
    for scope in scopes {
      for (spellings, hint) in scope.valued {
        lines.append("    \(pattern(scope, spellings))) \(offer(hint)); return ;;")
      }
    }
    if let root = scopes.first, root.subcommands.contains(where: { $0.text == "completions" }) {
      let shells = Shell.allCases.map(\.rawValue)
      lines.append("    \(shellQuoted("\(root.path) completions"))) \(offer(.words(shells))); return ;;")
    }
    return lines.isEmpty ? "    *) ;;" : lines.joined(separator: "\n")
  }

  private func pattern(_ scope: CompletionScope, _ spellings: [String]) -> String {
    spellings.map { shellQuoted("\(scope.path) \($0)") }.joined(separator: "|")
  }
}

/// A completion script for GNU Bash. It needs no helper package.
struct BashCompletion: CaseCompletion {
  fileprivate static let path = "path"
  let name: String
  let scopes: [CompletionScope]

  var text: String {
    """
    # bash completion for \(name)
    \(function)() {
      local cur="${COMP_WORDS[COMP_CWORD]}" prev="" path=\(shellQuoted(name)) i
      (( COMP_CWORD > 0 )) && prev="${COMP_WORDS[COMP_CWORD-1]}"
      # Bash makes a word of the "=" in --option=value.
      if [[ "$cur" == "=" ]]; then
        cur=""
      elif [[ "$prev" == "=" && COMP_CWORD -gt 1 ]]; then
        prev="${COMP_WORDS[COMP_CWORD-2]}"
      fi
      for (( i = 1; i < COMP_CWORD; i++ )); do
        case "$path ${COMP_WORDS[i]}" in
    \(steps)
        esac
      done
      COMPREPLY=()
      case "$path $prev" in
    \(values)
      esac
      case "$path" in
    \(words)
      esac
    }
    complete -F \(function) \(name)

    """
  }

  private var words: String {
    scopes.map { scope in
      let options = scope.spellings.map(\.text).joined(separator: " ")
      let names = scope.subcommands.map(\.text)
      let rest = names.isEmpty ? offer(scope.argument) : offer(.words(names))
      return """
            \(shellQuoted(scope.path)))
              if [[ "$cur" == -* ]]; then
                COMPREPLY=( $(compgen -W \(shellQuoted(options)) -- "$cur") )
              else
                \(rest)
              fi ;;
        """
    }.joined(separator: "\n")
  }

  fileprivate func offer(_ hint: CompletionHint) -> String {
    switch hint {
    case .none: ":"
    case .files: "compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"
    case .folders: "compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")"
    case .words(let words):
      "COMPREPLY=( $(compgen -W \(shellQuoted(words.joined(separator: " "))) -- \"$cur\") )"
    }
  }
}

/// A completion script for fish.
struct FishCompletion {
  let name: String
  let scopes: [CompletionScope]

  private var function: String {
    "__" + String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" }) + "_at"
  }

  var text: String {
    """
    # fish completion for \(name)
    function \(function)
      set -l cmd \(quoted(name))
      set -l skip 0
      for word in (commandline -opc)[2..-1]
        if test $skip = 1
          set skip 0
          continue
        end
        switch "$cmd $word"
    \(steps)
        end
      end
      test "$cmd" = "$argv[1]"
    end
    complete -c \(name) -f
    \(scopes.flatMap(lines).joined(separator: "\n"))

    """
  }

  private var steps: String {
    var lines: [String] = []
    for scope in scopes {
      for (spellings, _) in scope.valued {
        let patterns = spellings.map { quoted("\(scope.path) \($0)") }.joined(separator: " ")
        lines += ["      case \(patterns)", "        set skip 1"]
      }
    }
    for scope in scopes.dropFirst() {
      lines += ["      case \(quoted(scope.path))", "        set cmd \(quoted(scope.path))"]
    }
    if let root = scopes.first, root.subcommands.contains(where: { $0.text == "completions" }) {
      let path = quoted("\(root.path) completions")
      lines += ["      case \(path)", "        set cmd \(path)"]
    }
    return lines.joined(separator: "\n")
  }

  private func lines(_ scope: CompletionScope) -> [String] {
    let start = "complete -c \(name) -n \(quoted("\(function) \(quoted(scope.path))"))"
    var lines = scope.subcommands.map { "\(start) -a \(quoted($0.text)) -d \(quoted($0.help))" }
    for option in scope.options {
      let short = option.short.map { " -s \($0)" } ?? ""
      let value = option.role == .option ? needed(option.completion) : ""
      lines.append("\(start) -l \(option.name)\(short)\(value) -d \(quoted(option.help))")
      if option.isInverted { lines.append("\(start) -l no-\(option.name) -d \(quoted(option.help))") }
    }
    lines.append("\(start) -l help -d 'Show help.'")
    if scope.isRoot { lines.append("\(start) -l version -d 'Show the version.'") }
    if scope.subcommands.isEmpty, scope.argument != .none { lines.append(start + offer(scope.argument)) }
    if scope.isRoot, scope.subcommands.contains(where: { $0.text == "completions" }) {
      let shells = Shell.allCases.map(\.rawValue)
      let condition = quoted("\(function) \(quoted("\(scope.path) completions"))")
      lines.append("complete -c \(name) -n \(condition)\(offer(.words(shells)))")
    }
    return lines
  }

  /// `-x` keeps files from being offered where they make no sense.
  private func needed(_ hint: CompletionHint) -> String {
    (hint == .files ? " -r" : " -x") + offer(hint)
  }

  private func offer(_ hint: CompletionHint) -> String {
    switch hint {
    case .none: ""
    case .files: " -F"
    case .folders: " -a '(__fish_complete_directories)'"
    case .words(let words): " -a \(quoted(words.joined(separator: " ")))"
    }
  }

  /// Within single quotes fish knows just two escapes: of the quote and of the backslash.
  private func quoted(_ text: String) -> String {
    var result = ""
    for character in text {
      if character == "'" || character == "\\" { result.append("\\") }
      result.append(character)
    }
    return "'\(result)'"
  }
}

/// A completion script for the Z shell: to be put as `_name` in a folder of `fpath`, or sourced.
struct ZshCompletion: CaseCompletion {
  fileprivate static let path = "cmd"
  let name: String
  let scopes: [CompletionScope]

  var text: String {
    """
    #compdef \(name)
    \(function)() {
      local cmd=\(shellQuoted(name)) cur="$words[CURRENT]" prev="$words[CURRENT-1]" i
      local -a offered
      for (( i = 2; i < CURRENT; i++ )); do
        case "$cmd $words[i]" in
    \(steps)
        esac
      done
      # --option=value is one word here.
      if [[ "$cur" == --*=* ]]; then
        prev="${cur%%=*}"
        compset -P '*='
      fi
      case "$cmd $prev" in
    \(values)
      esac
      case "$cmd" in
    \(words)
      esac
    }
    if [[ "$funcstack[1]" == "\(function)" ]]; then
      \(function) "$@"
    else
      compdef \(function) \(name)
    fi

    """
  }

  private var words: String {
    scopes.map { scope in
      let rest =
        scope.subcommands.isEmpty ? offer(scope.argument) : described("subcommand", scope.subcommands)
      return """
            \(shellQuoted(scope.path)))
              if [[ "$cur" == -* ]]; then
                \(described("option", scope.spellings))
              else
                \(rest)
              fi ;;
        """
    }.joined(separator: "\n")
  }

  /// A colon separates the word from its description, so one within the word is escaped.
  private func described(_ kind: String, _ words: [CompletionScope.Word]) -> String {
    let entries = words.map { word in
      let text = word.text.split(separator: ":", omittingEmptySubsequences: false).joined(separator: "\\:")
      return shellQuoted("\(text):\(word.help)")
    }
    return "offered=(\(entries.joined(separator: " "))); _describe \(kind) offered"
  }

  fileprivate func offer(_ hint: CompletionHint) -> String {
    switch hint {
    case .none: ":"
    case .files: "_files"
    case .folders: "_files -/"
    case .words(let words): "compadd -- \(words.map(shellQuoted).joined(separator: " "))"
    }
  }
}
