import FoundationEssentials
import Glibc
import Support

/// A command line program: its commands, its version, and how it is run.
public struct Tool: Sendable {
  let root: Command
  let version: String
  let configuration: ConfigurationSource?
  let failure: @Sendable (any Error) -> CommandFailure?

  /// Makes a tool. `failure` gives your modules' errors an exit code and a message; an error that it does not
  /// know ends the program with 70.
  public init(
    _ root: Command, version: String, configuration: ConfigurationSource? = nil,
    failure: @escaping @Sendable (any Error) -> CommandFailure? = { _ in nil }
  ) {
    self.root = root
    self.version = version
    self.configuration = configuration
    self.failure = failure
  }

  /// Understands a command line; reads nothing else. `arguments` come without the program's name.
  public func parse(
    _ arguments: [String], environment: [String: String] = [:],
    configuration: ConfigurationValues = .none
  ) throws(UsageError) -> ToolRequest {
    let matcher = try Matcher(root: root, tokens: Token.split(arguments))
    return try resolve(matcher, environment, configuration)
  }

  /// The text of a page, `width` columns wide.
  public func text(of page: ToolPage, width: Int = 80, paint: Paint = Paint(false)) -> String {
    switch page {
    case .help(let path): HelpPage(root: root, path: path, width: width, paint: paint).text
    case .options: HelpPage(root: root, path: [], width: width, paint: paint).options
    case .version: "\(root.name) \(version)\n"
    case .completions(let shell): shell.script(for: root)
    case .manual(let path): ManualPage(root: root, path: path, version: version).text
    }
  }

  func resolve(
    _ matcher: Matcher, _ environment: [String: String], _ configuration: ConfigurationValues
  ) throws(UsageError) -> ToolRequest {
    if let page = matcher.page { return .show(page) }
    guard matcher.scope.command.run != nil else {
      throw matcher.scope.error(.missingSubcommand(matcher.scope.command.visibleSubcommands.map(\.name)))
    }
    let resolver = Resolver(matcher, environment: environment, configuration: configuration)
    return .run(try resolver.values())
  }

  /// The command that a path of names leads to.
  func command(at path: [String]) -> Command? {
    var found = root
    for name in path.dropFirst() {
      guard let next = found.subcommands.first(where: { $0.name == name }) else { return nil }
      found = next
    }
    return found
  }
}

extension Tool {
  /// Understands the command line, runs what it asks for, and says what went wrong on standard error.
  public func run(
    _ arguments: [String], environment: [String: String], console: Console
  ) async -> ExitCode {
    do {
      let matcher = try Matcher(root: root, tokens: Token.split(arguments))
      let configuration = try loadConfiguration(matcher, environment)
      switch try resolve(matcher, environment, configuration) {
      case .show(let page):
        let terminal = console.outputTerminal
        try console.output.write(text(of: page, width: terminal.width, paint: Paint(terminal)))
        return .done
      case .run(let values):
        guard let body = command(at: values.path)?.run else { return .internalError }
        return try await body(Context(values: values, console: console, environment: environment))
      }
    } catch {
      return report(error, console)
    }
  }

  /// Runs with the process's own arguments, environment and descriptors, then ends the process.
  public func main() async -> Never {
    let environment = ProcessInfo.processInfo.environment
    // As bytes: a file's name need not be UTF-8.
    let arguments = (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      CommandLine.unsafeArgv[index].map {
        FileName.text(UnsafeBufferPointer(start: $0, count: strlen($0)).map { UInt8(bitPattern: $0) })
      }
    }
    let code = await run(arguments, environment: environment, console: .standard(environment: environment))
    exit(code.code)
  }

  private func loadConfiguration(
    _ matcher: Matcher, _ environment: [String: String]
  ) throws -> ConfigurationValues {
    guard matcher.page == nil, let configuration else { return .none }
    let resolver = Resolver(matcher, environment: environment, configuration: .none)
    guard let path = resolver.lookUp(configuration.option.definition).texts.last else { return .none }
    do {
      return try configuration.load(path, root.configurationKeys)
    } catch let failure as CommandFailure {
      throw failure
    } catch {
      throw failure(error) ?? CommandFailure(.usage, "\(error)")
    }
  }

  private func report(_ error: any Error, _ console: Console) -> ExitCode {
    switch error {
    case let error as UsageError where error.isOfNoCommand:
      let terminal = console.messagesTerminal
      let page = HelpPage(root: root, path: [], width: terminal.width, paint: Paint(terminal))
      console.show(painted: "\(root.name): a command is missing\n\n" + page.overview.dropLast())
      return .usage
    case let error as UsageError:
      console.say("\(root.name): \(error.description)")
      return .usage
    case let error as WriteError where error.isBrokenPipe:
      // Whoever reads has read enough, as `head` does.
      return .done
    case let error as WriteError:
      console.say("\(root.name): \(error.description)")
      return error.isFullDisk ? .tryLater : .internalError
    default:
      let failure =
        error as? CommandFailure ?? failure(error)
        ?? CommandFailure(.internalError, "unexpected error: \(error)")
      console.say("\(root.name): \(failure.description)")
      return failure.exitCode
    }
  }
}

/// What a command line asks for.
public enum ToolRequest: Sendable {
  /// Run the command that `values` belong to.
  case run(Values)
  case show(ToolPage)
}

/// A text that a tool shows in place of running a command.
public enum ToolPage: Sendable, Equatable {
  /// The help of the command with this path.
  case help([String])
  /// The options of every command.
  case options
  /// The tool's name and version.
  case version
  case completions(Shell)
  /// The manual page of the command with this path, in roff; that of the root has every command below it.
  case manual([String])
}

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
  init(values: Values, console: Console, environment: [String: String] = [:]) {
    self.values = values
    self.console = console
    self.environment = environment
  }
}
