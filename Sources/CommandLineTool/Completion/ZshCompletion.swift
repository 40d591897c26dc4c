/// A completion script for the Z shell: to be put as `_name` in a folder of `fpath`, or sourced.
struct ZshCompletion {
  let name: String
  let scopes: [CompletionScope]

  private var function: String {
    "_" + String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
  }

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

  private var steps: String {
    var lines: [String] = []
    for scope in scopes {
      for (spellings, _) in scope.valued {
        lines.append("      \(pattern(scope, spellings))) (( i++ )) ;;")
      }
    }
    for scope in scopes.dropFirst() {
      lines.append("      \(shellQuoted(scope.path))) cmd=\(shellQuoted(scope.path)) ;;")
    }
    return lines.joined(separator: "\n")
  }

  private var values: String {
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

  private func pattern(_ scope: CompletionScope, _ spellings: [String]) -> String {
    spellings.map { shellQuoted("\(scope.path) \($0)") }.joined(separator: "|")
  }

  private func offer(_ hint: CompletionHint) -> String {
    switch hint {
    case .none: ":"
    case .files: "_files"
    case .folders: "_files -/"
    case .words(let words): "compadd -- \(words.map(shellQuoted).joined(separator: " "))"
    }
  }
}
