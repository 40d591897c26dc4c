import Support

/// Why a command line was not understood. The message is `description`; the exit code is always 64.
public struct UsageError: Error, Sendable, Equatable {
  /// What is wrong, as a case for each message.
  enum Problem: Sendable, Equatable {
    /// An option that the command does not have, as typed, and the nearest it has.
    case unknownOption(String, suggestion: String?)
    /// A subcommand that the command does not have, as typed, and the nearest it has.
    case unknownSubcommand(String, suggestion: String?)
    /// A command that does nothing without one of these subcommands.
    case missingSubcommand([String])
    /// An option without its value.
    case missingValue(option: String, valueName: String)
    /// A flag with a value.
    case unexpectedValue(flag: String)
    /// An option given twice that may be given once.
    case repeatedOption(String)
    /// A text that is not a value of the wanted kind.
    case invalidValue(input: String, text: String, reason: String, source: ValueSource)
    /// A required option that no source gives.
    case missingOption(String, environment: String?, key: String?)
    /// A required argument that is missing.
    case missingArgument(String)
    /// More arguments than the command takes; the first too many.
    case unexpectedArgument(String)
    /// An input was read that the command does not define: a fault of the program.
    case undefinedInput(String)
  }

  let problem: Problem
  /// The command that was reached: `["analysisctl", "jobs"]`.
  public let path: [String]

  init(_ problem: Problem, path: [String]) {
    self.problem = problem
    self.path = path
  }

  /// Whether the program was run without a command.
  var isOfNoCommand: Bool {
    guard case .missingSubcommand = problem else { return false }
    return path.count == 1
  }
}

extension UsageError: CustomStringConvertible {
  /// What is wrong and what to type instead, then where the help is.
  public var description: String {
    "\(sentence)\nRun '\(path.joined(separator: " ")) --help' for help."
  }

  private var sentence: String {
    switch problem {
    case .unknownOption(let typed, let suggestion):
      "unknown option '\(quoted(typed))'\(meant(suggestion))"
    case .unknownSubcommand(let typed, let suggestion):
      "unknown subcommand '\(quoted(typed))'\(meant(suggestion))"
    case .missingSubcommand(let names):
      "'\(path.joined(separator: " "))' needs a subcommand: \(names.joined(separator: ", "))"
    case .missingValue(let option, let valueName):
      "\(option) needs a value (\(valueName)); a value that starts with a dash is given as \(option)=VALUE"
    case .unexpectedValue(let flag):
      "\(flag) takes no value"
    case .repeatedOption(let option):
      "\(option) is given more than once"
    case .invalidValue(let input, let text, let reason, let source):
      "\(input): '\(quoted(text))' \(reason)\(origin(source))"
    case .missingOption(let option, let environment, let key):
      "\(option) is required\(otherSources(environment, key))"
    case .missingArgument(let name):
      "\(name) is missing"
    case .unexpectedArgument(let text):
      "unexpected argument '\(quoted(text))'"
    case .undefinedInput(let name):
      "\(name) is read by this command but not defined by it"
    }
  }

  private func meant(_ suggestion: String?) -> String {
    suggestion.map { ": did you mean '\($0)'?" } ?? ""
  }

  private func quoted(_ text: String) -> String {
    printable(text, limit: 80)
  }

  private func origin(_ source: ValueSource) -> String {
    switch source {
    case .environment(let name): " (from the environment variable \(name))"
    case .configuration(let path, let key): " (from \(key) in \(printable(path)))"
    case .commandLine, .standard, .absent: ""
    }
  }

  private func otherSources(_ environment: String?, _ key: String?) -> String {
    let others =
      (environment.map { ["the environment variable \($0)"] } ?? [])
      + (key.map { ["\($0) in the configuration file"] } ?? [])
    return others.isEmpty ? "" : "; it may also come from \(others.joined(separator: " or "))"
  }
}
