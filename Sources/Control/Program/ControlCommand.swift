import CommandLineTool

/// A command of `analysisctl`: its definition, and what it does with its context.
struct ControlCommand: Sendable {
  private let build: @Sendable (Dependencies) -> Command

  /// Defines a command. `run` may be left out where subcommands do the work. One that connects may also end with
  /// 77, since its login can lack a role, and with 8 where it keeps the end of the audit. One that timers run names the
  /// exit codes that are no failure of it, and takes `--metrics-file`. One of a feature is refused where the
  /// product that the program runs as has switched that off; one that does not read the product runs all the same.
  init(
    _ name: String, abstract: String, discussion: String = "", examples: [Example] = [],
    inputs: [any Input] = [], subcommands: [ControlCommand] = [], exitCodes: [ExitCode] = [],
    keepsEnd: Bool = true, feature: Feature? = nil, readsProduct: Bool = true,
    timerSuccesses: Set<ExitCode>? = nil,
    run: (@Sendable (ControlContext) async throws -> ExitCode)? = nil
  ) {
    var codes = Set(exitCodes)
    if codes.contains(.unreachable) {
      codes.insert(.permission)
      if keepsEnd { codes.insert(.endNotKept) }
    }
    if feature != nil { codes.formUnion([.refused, .unreadableInput]) }
    let exitCodes = ExitCode.all.filter(codes.contains)
    build = { dependencies in
      var body: (@Sendable (Context) async throws -> ExitCode)?
      if let run {
        body = { context in
          var context = try ControlContext(context, dependencies)
          if readsProduct { context.product = try await context.readProduct() }
          if let feature { try context.product?.require(feature) }
          guard let timerSuccesses else { return try await run(context) }
          return try await RunMetrics(context.command, successes: timerSuccesses).over(context, run)
        }
      }
      return Command(
        name, abstract: abstract, discussion: discussion, examples: examples,
        inputs: inputs + (timerSuccesses == nil ? [] : [RunMetrics.file]),
        subcommands: subcommands.map { $0.command(with: dependencies) }, exitCodes: exitCodes, run: body)
    }
  }

  /// The command, and those below it, with what they take from the process.
  func command(with dependencies: Dependencies) -> Command { build(dependencies) }
}
