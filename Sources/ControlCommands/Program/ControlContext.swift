import CommandLineTool

/// What a command gets: what it was given, and all that it may know of the process round it.
struct ControlContext: Sendable {
  let values: Values
  /// The command's name without the program's: `jobs list`.
  let command: String
  /// Where results go, in the form that was asked for.
  let view: View
  /// The process's environment.
  let environment: [String: String]
  let dependencies: Dependencies

  init(_ context: Context, _ dependencies: Dependencies) throws(UsageError) {
    values = context.values
    command = context.path.dropFirst().joined(separator: " ")
    view = View(console: context.console, isJSON: try context.values[CommonOptions.json])
    environment = context.environment
    self.dependencies = dependencies
  }

  /// Where results and messages go.
  var console: Console { view.console }

  /// An option's value.
  subscript<Value>(_ option: Option<Value>) -> Value {
    get throws(UsageError) { try values[option] }
  }

  /// An argument's value.
  subscript<Value>(_ argument: Argument<Value>) -> Value {
    get throws(UsageError) { try values[argument] }
  }

  /// A switch's value.
  subscript(_ flag: Flag) -> Bool {
    get throws(UsageError) { try values[flag] }
  }
}
