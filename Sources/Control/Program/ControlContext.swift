import CommandLineTool
public import EventLoop
import Glibc
public import Support

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
  public init(
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
