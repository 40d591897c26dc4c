/// What a command's `run` gets: all that it may know of the world above it.
public struct Context: Sendable {
  /// What was given.
  public let values: Values
  /// Where results and messages go.
  public let console: Console
  /// The process's environment.
  public let environment: [String: String]
  /// The command's full name: `["analysisctl", "jobs", "list"]`.
  public var path: [String] { values.path }

  /// Makes a context, for tests of a command.
  public init(values: Values, console: Console, environment: [String: String] = [:]) {
    self.values = values
    self.console = console
    self.environment = environment
  }
}
