/// A shell for which a completion script can be written.
public enum Shell: String, Sendable, CaseIterable {
  /// GNU Bash.
  case bash
  /// The Z shell.
  case zsh
  /// fish.
  case fish

  func script(for root: Command) -> String {
    let places = CompletionPlace.all(below: root)
    return switch self {
    case .bash: BashCompletion(name: root.name, places: places).text
    case .zsh: ZshCompletion(name: root.name, places: places).text
    case .fish: FishCompletion(name: root.name, places: places).text
    }
  }
}

/// The text as one word of a POSIX shell.
func shellQuoted(_ text: String) -> String {
  "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
