import Testing

@testable import CommandLineTool

@Suite("A tool is run")
struct RunningTests {
  struct Broken: Error {}
  struct Unreachable: Error {}

  /// What a run printed and ended with.
  struct Outcome: Equatable {
    var code: ExitCode
    var output = ""
    var messages = ""
  }

  func run(
    _ line: String, environment: [String: String] = [:], configuration: ConfigurationSource? = nil,
    body: @escaping @Sendable (Context) async throws -> ExitCode = { _ in .done }
  ) async -> Outcome {
    let command = Command(
      "do", abstract: "Do it.", inputs: [Sample.window], run: body)
    let root = Command("tool", abstract: "A tool.", inputs: [Sample.config], subcommands: [command])
    let tool = Tool(root, version: "1", configuration: configuration) { error in
      error is Unreachable ? CommandFailure(.unreachable, "the database does not answer") : nil
    }
    let output = MemoryWriter()
    let messages = MemoryWriter()
    let code = await tool.run(
      line.split(separator: " ").map(String.init), environment: environment,
      console: Console(output: output, messages: messages))
    return Outcome(code: code, output: output.text, messages: messages.text)
  }

  @Test("a command's own exit code is the tool's, and its results go to standard output")
  func code() async {
    let outcome = await run("do -w 3") { context in
      try context.console.print(
        "window \(try context.values[Sample.window]) of \(context.path.joined(separator: " "))")
      context.console.say("nearly")
      return .quotaRefused
    }
    #expect(outcome == Outcome(code: .quotaRefused, output: "window 3 of tool do\n", messages: "nearly\n"))
  }

  @Test("a usage error is 64, on standard error, with the way to the help")
  func usage() async {
    #expect(
      await run("od")
        == Outcome(
          code: .usage,
          messages: "tool: unknown subcommand 'od': did you mean 'do'?\nRun 'tool --help' for help.\n"))
  }

  @Test("help goes to standard output and is 0")
  func help() async {
    let outcome = await run("do --help")
    #expect(outcome.code == .done)
    #expect(outcome.output.hasPrefix("tool do: Do it.\n"))
    #expect(outcome.messages == "")
  }

  @Test("a failure has its code, its message and its advice")
  func failure() async {
    let outcome = await run("do") { _ in
      throw CommandFailure(.unreadableInput, "photo.jpg: no such file", advice: "Check the name.")
    }
    #expect(
      outcome == Outcome(code: .unreadableInput, messages: "tool: photo.jpg: no such file\nCheck the name.\n")
    )
  }

  @Test("an error of another module is translated")
  func translated() async {
    #expect(
      await run("do") { _ in throw Unreachable() }
        == Outcome(code: .unreachable, messages: "tool: the database does not answer\n"))
  }

  @Test("an unknown error is a fault of the program")
  func unknown() async {
    #expect(
      await run("do") { _ in throw Broken() }
        == Outcome(code: .internalError, messages: "tool: unexpected error: Broken()\n"))
  }

  @Test("the configuration file that an option or a variable names is read, with every key the tool knows")
  func configuration() async {
    let source = ConfigurationSource(option: Sample.config) { path, keys in
      #expect(keys == ["window"])
      return ConfigurationValues(path: path, values: ["window": path == "a.conf" ? "7" : "9"])
    }
    let body: @Sendable (Context) async throws -> ExitCode = { context in
      try context.console.print(
        "\(try context.values[Sample.window]) \(context.values.source(of: Sample.window))")
      return .done
    }
    let named = await run("do --config a.conf", configuration: source, body: body)
    #expect(named.output == "7 window in a.conf\n")
    let inherited = await run("do", environment: ["SHOP_CONFIG": "b.conf"], configuration: source, body: body)
    #expect(inherited.output == "9 window in b.conf\n")
    let none = await run("do", configuration: source, body: body)
    #expect(none.output == "64 the default\n")
  }

  @Test("a configuration file that cannot be understood is a usage error")
  func badConfiguration() async {
    let source = ConfigurationSource(option: Sample.config) { _, _ in throw Broken() }
    let outcome = await run("do --config a.conf", configuration: source)
    #expect(outcome == Outcome(code: .usage, messages: "tool: Broken()\n"))
    let help = await run("do --config a.conf --help", configuration: source)
    #expect(help.code == .done)
  }

  @Test("a reader that has gone is no failure")
  func brokenPipe() async throws {
    let tool = Tool(
      Command(
        "tool", abstract: "A tool.",
        run: {
          try $0.console.print("x"); return .jobFailed
        }), version: "1")
    let messages = MemoryWriter()
    let code = await tool.run(
      [], environment: [:], console: Console(output: ClosedWriter(), messages: messages))
    #expect(code == .done)
    #expect(messages.text == "")
  }
}
