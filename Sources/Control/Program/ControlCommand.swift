public import CommandLineTool
import EventLoop
import Glibc
public import Support

/// A command of `analysisctl`: its definition, and what it does with its context.
struct ControlCommand: Sendable {
  private let build: @Sendable (Dependencies) -> Command

  /// Defines a command. `run` may be left out where subcommands do the work. One that connects may also end with
  /// 77, since its login can lack a role, and with 8 where it keeps the end of the audit. One that timers run names the
  /// exit codes that are no failure of it, and takes `--metrics-file`. One of a feature is refused where the
  /// product that the program runs as has switched that off; one that does not read the product runs all the same.
  init(
    _ name: String, abstract: String, discussion: String = "", examples: [Example] = [],
    inputs: [any Input] = [], subcommands: [ControlCommand] = [],
    subjects: [(title: String, commands: [ControlCommand])] = [], exitCodes: [ExitCode] = [],
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
    let exitCodes = ExitCode.allCases.filter(codes.contains)
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
        subcommands: subcommands.map { $0.command(with: dependencies) },
        subjects: subjects.map { subject in
          Command.Subject(subject.title, subject.commands.map { $0.command(with: dependencies) })
        }, exitCodes: exitCodes, run: body)
    }
  }

  /// The command, and those below it, with what they take from the process.
  func command(with dependencies: Dependencies) -> Command { build(dependencies) }
}

/// `analysisctl`, all of it but the process.
public enum ControlProgram {
  /// The version that `--version` prints.
  public static let version = ProductVersion.current

  /// The program, ready to be run.
  public static func tool(_ dependencies: Dependencies = .process) -> Tool {
    Tool(
      root(dependencies), version: version, configuration: CommonOptions.source,
      failure: FailureMessage.failure(for:))
  }

  /// The tree of commands; public for the tests of its definition.
  static func root(_ dependencies: Dependencies = .process) -> Command {
    command.command(with: dependencies)
  }

  private static let command = ControlCommand(
    "analysisctl", abstract: "Look after the analysis queue: submit images, watch jobs, print reports.",
    discussion: """
      Every command reaches the database as libpq does: by --database, by the PG* variables, a service file \
      and a password file. An option comes before its environment variable, and that before the \
      configuration file.

      Results go to standard output, messages to standard error. NO_COLOR turns colours off.
      """,
    examples: [
      Example("analysisctl migrate", "Make the schema, or bring it up to date."),
      Example("analysisctl users add u1 --plan free --zone Asia/Jakarta", "Add a user."),
      Example("analysisctl submit --user u1 --type throat photos/", "Submit the images of a folder."),
      Example("analysisctl status", "See what waits and who works."),
      Example("analysisctl doctor", "See whether something is wrong."),
      Example("analysisctl report usage --month previous --out usage.csv", "Write last month's usage."),
    ],
    inputs: CommonOptions.all,
    subjects: [
      (
        "Jobs",
        [SubmitCommand.command, BatchesCommand.command, JobsCommand.command, ReviewsCommand.command]
      ),
      (
        "Queue",
        [
          StatusCommand.command, WatchCommand.command, PauseCommand.command, ResumeCommand.command,
          DoctorCommand.command, ServeCommand.command,
        ]
      ),
      (
        "People",
        [
          UsersCommand.command, ClinicsCommand.command, ShareCommand.command, AccountCommand.command,
          WebhooksCommand.command, EraseCommand.command,
        ]
      ),
      (
        "Months and bills",
        [
          PlansCommand.command, MonthCommand.command, ReportCommand.command, StatementCommand.command,
          ReconcileCommand.command,
        ]
      ),
      (
        "Installation",
        [
          MigrateCommand.command, RolesCommand.command, SettingsCommand.command, ProductsCommand.command,
          KeysCommand.command, ImagesCommand.command, AuditCommand.command, PurgeCommand.command,
        ]
      ),
    ],
    exitCodes: ExitCode.allCases)
}

/// What a command gets: what it was given, and all that it may know of the process round it.
struct ControlContext: Sendable {
  let values: Values
  /// The command's name without the program's: `jobs list`.
  let command: String
  /// Where results go, in the form that was asked for.
  let view: View
  let environment: [String: String]
  let dependencies: Dependencies
  /// The product that the program runs as; nil for none.
  var product: Product?

  init(_ context: Context, _ dependencies: Dependencies) throws(UsageError) {
    values = context.values
    command = context.path.dropFirst().joined(separator: " ")
    view = View(console: context.console, isJSON: try context.values[CommonOptions.json])
    environment = context.environment
    self.dependencies = dependencies
  }

  /// Where results and messages go.
  var console: Console { view.console }

  subscript<Value>(_ option: Option<Value>) -> Value {
    get throws(UsageError) { try values[option] }
  }

  subscript<Value>(_ argument: Argument<Value>) -> Value {
    get throws(UsageError) { try values[argument] }
  }

  subscript(_ flag: Flag) -> Bool {
    get throws(UsageError) { try values[flag] }
  }
}

/// What the commands take from the process round them, so that tests can give their own.
public struct Dependencies: Sendable {
  /// Ctrl-C and SIGTERM as they arrive.
  var interruptions: @Sendable () throws -> AsyncStream<Signal>
  /// Reads standard input to its end; the number is the most bytes that are accepted.
  var standardInput: @Sendable (_ limit: Int) throws -> [UInt8]
  /// A line that is typed at the terminal; nil where there is no terminal to ask at.
  var typedLine: @Sendable (EventLoop) async throws -> String?
  /// Whether there is a terminal to ask at.
  var hasTerminal: @Sendable () -> Bool
  /// A key for a run of `submit` that no run before had.
  var runKey: @Sendable () -> String
  /// The network from which images are fetched by URL.
  var network: NetworkDependencies
  /// Who runs the program, and where.
  public var owner: @Sendable () -> ProcessOwner

  /// Dependencies of your own, for tests.
  init(
    interruptions: @escaping @Sendable () throws -> AsyncStream<Signal>,
    standardInput: @escaping @Sendable (_ limit: Int) throws -> [UInt8],
    typedLine: @escaping @Sendable (EventLoop) async throws -> String? = { _ in nil },
    hasTerminal: @escaping @Sendable () -> Bool = { false },
    runKey: @escaping @Sendable () -> String, network: NetworkDependencies = .system,
    owner: @escaping @Sendable () -> ProcessOwner = ProcessOwner.current
  ) {
    self.interruptions = interruptions
    self.standardInput = standardInput
    self.typedLine = typedLine
    self.hasTerminal = hasTerminal
    self.runKey = runKey
    self.network = network
    self.owner = owner
  }

  /// The process's own. A run's key is 128 random bits as 32 hexadecimal digits.
  public static let process = Dependencies(
    interruptions: { try Signals.stream(of: [.interrupt, .terminate]) },
    standardInput: { limit in try InputFile.read(descriptor: 0, name: "standard input", limit: limit) },
    typedLine: { loop in try await Control.typedLine(on: loop) },
    hasTerminal: { isatty(0) == 1 },
    runKey: { Hexadecimal.text(of: (0..<16).map { _ in UInt8.random(in: .min ... .max) }) })
}

extension Dependencies {
  /// Reads an address from standard input, where other users of the machine do not see it.
  func address() async throws -> String { try await text(atMost: 8192) }

  /// Reads a text of so many bytes at most from standard input, without blanks at its ends.
  func text(atMost limit: Int) async throws -> String {
    // Reading blocks, so it is done where threads may wait.
    let reading = Task(executorPreference: globalConcurrentExecutor) { try standardInput(limit) }
    let text = String(decoding: try await reading.value, as: UTF8.self)
    return String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }
}
