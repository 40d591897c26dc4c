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
  ) throws(UsageError) -> Request {
    let matcher = try Matcher(root: root, tokens: Token.split(arguments))
    return try resolve(matcher, environment, configuration)
  }

  /// The text of a page, `width` columns wide.
  public func text(of page: Page, width: Int = 80, paint: Paint = Paint(false)) -> String {
    switch page {
    case .help(let path): HelpPage(root: root, path: path, width: width, paint: paint).text
    case .version: "\(root.name) \(version)\n"
    case .completions(let shell): shell.script(for: root)
    case .manual: ManualPage(root: root, version: version).text
    }
  }

  func resolve(
    _ matcher: Matcher, _ environment: [String: String], _ configuration: ConfigurationValues
  ) throws(UsageError) -> Request {
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
