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
