/// A completion script for the Z shell: to be put as `_name` in a folder of `fpath`, or sourced.
struct ZshCompletion {
  let name: String
  let places: [CompletionPlace]

  private var function: String {
    "_" + String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
  }

  var text: String {
    """
    #compdef \(name)
    \(function)() {
      local place=\(shellQuoted(name)) cur="$words[CURRENT]" prev="$words[CURRENT-1]" i
      local -a offered
      for (( i = 2; i < CURRENT; i++ )); do
        case "$place $words[i]" in
    \(steps)
        esac
      done
      # --option=value is one word here.
      if [[ "$cur" == --*=* ]]; then
        prev="${cur%%=*}"
        compset -P '*='
      fi
      case "$place $prev" in
    \(values)
      esac
      case "$place" in
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
    for place in places {
      for (spellings, _) in place.valued {
        lines.append("      \(pattern(place, spellings))) (( i++ )) ;;")
      }
    }
    for place in places.dropFirst() {
      lines.append("      \(shellQuoted(place.path))) place=\(shellQuoted(place.path)) ;;")
    }
    return lines.joined(separator: "\n")
  }

  private var values: String {
    var lines: [String] = []
    for place in places {
      for (spellings, hint) in place.valued {
        lines.append("    \(pattern(place, spellings))) \(offer(hint)); return ;;")
      }
    }
    if let root = places.first, root.subcommands.contains(where: { $0.text == "completions" }) {
      let shells = Shell.allCases.map(\.rawValue)
      lines.append("    \(shellQuoted("\(root.path) completions"))) \(offer(.words(shells))); return ;;")
    }
    return lines.isEmpty ? "    *) ;;" : lines.joined(separator: "\n")
  }

  private var words: String {
    places.map { place in
      let rest =
        place.subcommands.isEmpty ? offer(place.argument) : described("subcommand", place.subcommands)
      return """
            \(shellQuoted(place.path)))
              if [[ "$cur" == -* ]]; then
                \(described("option", place.spellings))
              else
                \(rest)
              fi ;;
        """
    }.joined(separator: "\n")
  }

  /// A colon separates the word from its description, so one within the word is escaped.
  private func described(_ kind: String, _ words: [CompletionPlace.Word]) -> String {
    let entries = words.map { word in
      let text = word.text.split(separator: ":", omittingEmptySubsequences: false).joined(separator: "\\:")
      return shellQuoted("\(text):\(word.help)")
    }
    return "offered=(\(entries.joined(separator: " "))); _describe \(kind) offered"
  }

  private func pattern(_ place: CompletionPlace, _ spellings: [String]) -> String {
    spellings.map { shellQuoted("\(place.path) \($0)") }.joined(separator: "|")
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
