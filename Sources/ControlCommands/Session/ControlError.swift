import CommandLineTool

/// What a command itself finds wrong, with the exit code that it means.
struct ControlError: Error, Sendable, Equatable, CustomStringConvertible {
  let exitCode: ExitCode
  /// What happened, to what.
  let message: String
  /// What to do about it.
  let advice: String?

  init(_ exitCode: ExitCode, _ message: String, advice: String? = nil) {
    self.exitCode = exitCode
    self.message = message
    self.advice = advice
  }

  /// Options or arguments that contradict each other.
  static func usage(_ message: String, advice: String? = nil) -> ControlError {
    ControlError(.usage, message, advice: advice)
  }

  var description: String { advice.map { "\(message) \($0)" } ?? message }
}
