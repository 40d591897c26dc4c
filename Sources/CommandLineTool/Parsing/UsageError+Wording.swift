import Formatting

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
