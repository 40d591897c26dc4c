/// Why a command line was not understood. Its words are in `description`; the exit code is always 64.
public struct UsageError: Error, Sendable, Equatable {
  /// What is wrong, without words.
  public enum Problem: Sendable, Equatable {
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

  /// What is wrong.
  public let problem: Problem
  /// The command that was reached: `["analysisctl", "jobs"]`.
  public let path: [String]

  /// Makes an error.
  public init(_ problem: Problem, path: [String]) {
    self.problem = problem
    self.path = path
  }
}
