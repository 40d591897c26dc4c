/// How a program ended, for the one that started it.
///
/// The codes from 64 are those of `sysexits.h`.
public struct ExitCode: Sendable, Hashable {
  /// The number given to the system.
  public let code: Int32
  /// What it means, in one sentence.
  public let sentence: String
  /// When which command ends with it, for the manual page of a program with commands; empty where the sentence is all.
  let cases: String

  private init(_ code: Int32, _ sentence: String, _ cases: String = "") {
    self.code = code
    self.sentence = sentence
    self.cases = cases
  }

  /// 0: everything asked for was done.
  public static let done = ExitCode(0, "Everything asked for was done.")
  /// 1: a job failed, or a check found something wrong.
  public static let jobFailed = ExitCode(
    1, "A job failed, or a check found something wrong.",
    """
    submit --wait: a job died or was cancelled. reconcile, doctor and audit verify: something is wrong. Warnings of \
    doctor alone are 0, unless --fail-on warning is given.
    """)
  /// 3: a user's limit was reached.
  public static let quotaRefused = ExitCode(
    3, "Something was refused because a user's limit is reached; the rest was done.")
  /// 4: something was refused for another reason.
  public static let refused = ExitCode(4, "Something was refused for another reason; the rest was done.")
  /// 5: there was nothing to do.
  public static let nothingToDo = ExitCode(
    5, "There was nothing to do.",
    """
    Nothing to submit, to remove or to close, the month is closed already, or the file holds this closed statement \
    already.
    """)
  /// 6: a month is over and not closed.
  public static let jobsStillOpen = ExitCode(
    6, "A month is over and not closed: its usage may still change.",
    """
    report --month: a draft was written, and jobs of the month are still open. report --due: nothing was written; a \
    month in its time of grace is written by a later run, and one that could be closed is named with the command. \
    purge: what is past its time was kept, since its month could be closed and is not.
    """)
  /// 7: the list may go on.
  public static let cutShort = ExitCode(
    7, "The search stopped before the page was full; go on where it says.",
    "The list goes on with --after and the place that it names (next in JSON).")
  /// 8: it was done, but the end of the audit is not kept.
  public static let endNotKept = ExitCode(
    8, "It was done, but the end of the audit could not be kept (--audit-ends).",
    "The message says why. Nothing is undone; audit keep keeps the end when the cause is gone.")
  /// 9: it would be paid for again, and nothing was done.
  public static let paidBefore = ExitCode(
    9, "Nothing was submitted: pictures are paid for this month already (--again).")
  /// 64: the command line or configuration is wrong.
  public static let usage = ExitCode(
    64, "The command line or the configuration is wrong.",
    """
    Also: a command that asks first, where there is no terminal and neither --yes nor --confirm; a limit of open files \
    too low for a worker; settings by which no database can be reached; a database password outside of a password file.
    """)
  /// 66: an input file cannot be read.
  public static let unreadableInput = ExitCode(66, "An input file cannot be read.")
  /// 69: a service cannot be reached.
  public static let unreachable = ExitCode(
    69, "The database or the analysis endpoint cannot be reached.",
    "Also: the schema is too old or too new; the message says which side to upgrade.")
  /// 70: a fault of the program itself.
  public static let internalError = ExitCode(70, "The program met a fault of its own.")
  /// 75: the same command may succeed later.
  public static let tryLater = ExitCode(
    75, "It cannot be done now; the same command may succeed later.",
    """
    The server is busy, a disk is full, the command was interrupted or its time was over, or the login has made 600 \
    entries of the audit in this minute. submit: image-decoder cannot be started. A worker with --drain: jobs wait for \
    what is paused. purge: a month's tables were in use. erase: jobs are open. month close: the month is not over, or \
    in its time of grace.
    """)
  /// 77: permission is missing.
  public static let permission = ExitCode(
    77, "Permission to do it is missing.",
    """
    The login lacks a role, or is restricted to clinics and may not do it. A file or folder is another login's, cannot \
    be written, or others can read it. statement as PDF: no font is installed, none has the letters of a name, or \
    statement-printer cannot be started.
    """)

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
