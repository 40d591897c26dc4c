/// How a program ended, for the one that started it.
///
/// The codes from 64 are those of `sysexits.h`.
public enum ExitCode: Int32, Sendable, CaseIterable {
  /// Everything asked for was done.
  case done = 0
  /// A job failed, or a check found something wrong.
  case jobFailed = 1
  /// A user's limit was reached.
  case quotaRefused = 3
  /// Something was refused for another reason.
  case refused = 4
  /// There was nothing to do.
  case nothingToDo = 5
  /// A month is over and not closed.
  case jobsStillOpen = 6
  /// The list may go on.
  case cutShort = 7
  /// It was done, but the end of the audit is not kept.
  case endNotKept = 8
  /// It would be paid for again, and nothing was done.
  case paidBefore = 9
  /// The command line or configuration is wrong.
  case usage = 64
  /// An input file cannot be read.
  case unreadableInput = 66
  /// A service cannot be reached.
  case unreachable = 69
  /// A fault of the program itself.
  case internalError = 70
  /// The same command may succeed later.
  case tryLater = 75
  case permission = 77

  /// The number given to the system.
  public var code: Int32 { rawValue }
  /// What it means, in one sentence.
  public var sentence: String { meaning.sentence }
  /// When which command ends with it, for the manual page of a program with commands; empty where the sentence is all.
  var cases: String { meaning.cases }

  private var meaning: (sentence: String, cases: String) {
    switch self {
    case .done: ("Everything asked for was done.", "")
    case .jobFailed:
      (
        "A job failed, or a check found something wrong.",
        """
        submit --wait: a job died or was cancelled. reconcile, doctor and audit verify: something is wrong. Warnings of \
        doctor alone are 0, unless --fail-on warning is given.
        """
      )
    case .quotaRefused: ("Something was refused because a user's limit is reached; the rest was done.", "")
    case .refused: ("Something was refused for another reason; the rest was done.", "")
    case .nothingToDo:
      (
        "There was nothing to do.",
        """
        Nothing to submit, to remove or to close, the month is closed already, or the file holds this closed statement \
        already.
        """
      )
    case .jobsStillOpen:
      (
        "A month is over and not closed: its usage may still change.",
        """
        report --month: a draft was written, and jobs of the month are still open. report --due: nothing was written; a \
        month in its time of grace is written by a later run, and one that could be closed is named with the command. \
        purge: what is past its time was kept, since its month could be closed and is not.
        """
      )
    case .cutShort:
      (
        "The search stopped before the page was full; go on where it says.",
        "The list goes on with --after and the place that it names (next in JSON)."
      )
    case .endNotKept:
      (
        "It was done, but the end of the audit could not be kept (--audit-ends).",
        "The message says why. Nothing is undone; audit keep keeps the end when the cause is gone."
      )
    case .paidBefore: ("Nothing was submitted: pictures are paid for this month already (--again).", "")
    case .usage:
      (
        "The command line or the configuration is wrong.",
        """
        Also: a command that asks first, where there is no terminal and neither --yes nor --confirm; a limit of open files \
        too low for a worker; settings by which no database can be reached; a database password outside of a password file.
        """
      )
    case .unreadableInput: ("An input file cannot be read.", "")
    case .unreachable:
      (
        "The database or the analysis endpoint cannot be reached.",
        "Also: the schema is too old or too new; the message says which side to upgrade."
      )
    case .internalError: ("The program met a fault of its own.", "")
    case .tryLater:
      (
        "It cannot be done now; the same command may succeed later.",
        """
        The server is busy, a disk is full, the command was interrupted or its time was over, or the login has made 600 \
        entries of the audit in this minute. submit: image-decoder cannot be started. A worker with --drain: jobs wait for \
        what is paused. purge: a month's tables were in use. erase: jobs are open. month close: the month is not over, or \
        in its time of grace.
        """
      )
    case .permission:
      (
        "Permission to do it is missing.",
        """
        The login lacks a role, or is restricted to clinics and may not do it. A file or folder is another login's, cannot \
        be written, or others can read it. statement as PDF: no font is installed, none has the letters of a name, or \
        statement-printer cannot be started.
        """
      )
    }
  }
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
