import Formatting
import FoundationEssentials
import Glibc

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
