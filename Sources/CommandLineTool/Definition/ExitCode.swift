/// How a program ended, for the one that started it.
///
/// The codes from 64 are those of `sysexits.h`.
public struct ExitCode: Sendable, Hashable {
  /// The number given to the system.
  public let code: Int32
  /// What it means, in one sentence.
  public let sentence: String

  private init(_ code: Int32, _ sentence: String) {
    self.code = code
    self.sentence = sentence
  }

  /// 0: everything asked for was done.
  public static let done = ExitCode(0, "Everything asked for was done.")
  /// 1: a job failed, or a check found something wrong.
  public static let jobFailed = ExitCode(1, "A job failed, or a check found something wrong.")
  /// 3: a user's limit was reached.
  public static let quotaRefused = ExitCode(
    3, "Something was refused because a user's limit is reached; the rest was done.")
  /// 4: something was refused for another reason.
  public static let refused = ExitCode(4, "Something was refused for another reason; the rest was done.")
  /// 5: there was nothing to do.
  public static let nothingToDo = ExitCode(5, "There was nothing to do.")
  /// 6: a month is over and not closed.
  public static let jobsStillOpen = ExitCode(
    6, "A month is over and not closed: its usage may still change.")
  /// 7: the list may go on.
  public static let cutShort = ExitCode(
    7, "The search stopped before the page was full; go on where it says.")
  /// 8: it was done, but the end of the audit is not kept.
  public static let endNotKept = ExitCode(
    8, "It was done, but the end of the audit could not be kept (--audit-ends).")
  /// 9: it would be paid for again, and nothing was done.
  public static let paidBefore = ExitCode(
    9, "Nothing was submitted: pictures are paid for this month already (--again).")
  /// 64: the command line or configuration is wrong.
  public static let usage = ExitCode(64, "The command line or the configuration is wrong.")
  /// 66: an input file cannot be read.
  public static let unreadableInput = ExitCode(66, "An input file cannot be read.")
  /// 69: a service cannot be reached.
  public static let unreachable = ExitCode(69, "The database or the analysis endpoint cannot be reached.")
  /// 70: a fault of the program itself.
  public static let internalError = ExitCode(70, "The program met a fault of its own.")
  /// 75: the same command may succeed later.
  public static let tryLater = ExitCode(75, "It cannot be done now; the same command may succeed later.")
  /// 77: permission is missing.
  public static let permission = ExitCode(77, "Permission to do it is missing.")

  /// Every code, in the order of their numbers.
  public static let all: [ExitCode] = [
    .done, .jobFailed, .quotaRefused, .refused, .nothingToDo, .jobsStillOpen, .cutShort,
    .endNotKept, .paidBefore, .usage, .unreadableInput, .unreachable, .internalError, .tryLater, .permission,
  ]
}

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
