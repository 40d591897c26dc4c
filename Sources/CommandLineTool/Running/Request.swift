/// What a command line asks for.
public enum Request: Sendable {
  /// Run the command that `values` belong to.
  case run(Values)
  /// Show a text.
  case show(Page)
}

/// A text that a tool shows in place of running a command.
public enum Page: Sendable, Equatable {
  /// The help of the command with this path.
  case help([String])
  /// The tool's name and version.
  case version
  /// A completion script.
  case completions(Shell)
  /// The manual page of the whole tool, in roff.
  case manual
}
