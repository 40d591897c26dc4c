/// What a command line asks for.
public enum Request: Sendable {
  /// Run the command that `values` belong to.
  case run(Values)
  /// Show a text.
  case show(Page)
}
