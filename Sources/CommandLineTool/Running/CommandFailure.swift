/// Ends a command with a message on standard error and an exit code.
public struct CommandFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// What the program ends with.
  public let exitCode: ExitCode
  /// What happened, to what.
  public let message: String
  /// What to do about it.
  public let advice: String?

  /// Makes a failure.
  public init(_ exitCode: ExitCode, _ message: String, advice: String? = nil) {
    self.exitCode = exitCode
    self.message = message
    self.advice = advice
  }

  /// Options or arguments that contradict each other, or one that is missing.
  public static func usage(_ message: String, advice: String? = nil) -> CommandFailure {
    CommandFailure(.usage, message, advice: advice)
  }

  /// The message, and the advice on a line of its own.
  public var description: String {
    advice.map { "\(message)\n\($0)" } ?? message
  }
}
