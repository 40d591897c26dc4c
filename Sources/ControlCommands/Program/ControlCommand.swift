import CommandLineTool

/// A command of `analysisctl`: its definition, and what it does with its context.
struct ControlCommand: Sendable {
  private let build: @Sendable (Dependencies) -> Command

  /// Defines a command. `run` may be left out where subcommands do the work.
  init(
    _ name: String, abstract: String, discussion: String = "", examples: [Example] = [],
    inputs: [any Input] = [], subcommands: [ControlCommand] = [], exitCodes: [ExitCode] = [],
    run: (@Sendable (ControlContext) async throws -> ExitCode)? = nil
  ) {
    build = { dependencies in
      var body: (@Sendable (Context) async throws -> ExitCode)?
      if let run { body = { context in try await run(ControlContext(context, dependencies)) } }
      return Command(
        name, abstract: abstract, discussion: discussion, examples: examples, inputs: inputs,
        subcommands: subcommands.map { $0.command(with: dependencies) }, exitCodes: exitCodes, run: body)
    }
  }

  /// The command, and those below it, with what they take from the process.
  func command(with dependencies: Dependencies) -> Command { build(dependencies) }
}
