/// A completion script for GNU Bash. It needs no helper package.
struct BashCompletion {
  let name: String
  let scopes: [CompletionScope]

  private var function: String {
    "_" + String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
  }

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

  /// A value is stepped over, so that it is not taken for a subcommand.
  private var steps: String {
    var lines: [String] = []
    for scope in scopes {
      for (spellings, _) in scope.valued {
        lines.append("      \(pattern(scope, spellings))) (( i++ )) ;;")
      }
    }
    for scope in scopes.dropFirst() {
      lines.append("      \(shellQuoted(scope.path))) path=\(shellQuoted(scope.path)) ;;")
    }
    return lines.joined(separator: "\n")
  }

  private var values: String {
    var lines: [String] = []
    for scope in scopes {
      for (spellings, hint) in scope.valued {
        lines.append("    \(pattern(scope, spellings))) \(offer(hint, orElse: ":")); return ;;")
      }
    }
    if let root = scopes.first, root.subcommands.contains(where: { $0.text == "completions" }) {
      let shells = Shell.allCases.map(\.rawValue)
      lines.append(
        "    \(shellQuoted("\(root.path) completions"))) \(offer(.words(shells), orElse: ":")); return ;;")
    }
    return lines.isEmpty ? "    *) ;;" : lines.joined(separator: "\n")
  }

  private var words: String {
    scopes.map { scope in
      let options = scope.spellings.map(\.text).joined(separator: " ")
      let names = scope.subcommands.map(\.text)
      let rest = names.isEmpty ? offer(scope.argument, orElse: ":") : offer(.words(names), orElse: ":")
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

  private func pattern(_ scope: CompletionScope, _ spellings: [String]) -> String {
    spellings.map { shellQuoted("\(scope.path) \($0)") }.joined(separator: "|")
  }

  private func offer(_ hint: CompletionHint, orElse nothing: String) -> String {
    switch hint {
    case .none: nothing
    case .files: "compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"
    case .folders: "compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")"
    case .words(let words):
      "COMPREPLY=( $(compgen -W \(shellQuoted(words.joined(separator: " "))) -- \"$cur\") )"
    }
  }
}
