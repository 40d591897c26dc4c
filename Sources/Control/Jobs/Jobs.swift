import CommandLineTool
import PostgreSQL
import Support

enum JobsCommand {
  /// Said where job numbers are shown.
  static let numbers = """
    A job's number is its own, and numbers jump: each connection to the database draws 64 at once and drops what it \
    does not use. A gap is no lost job.
    """

  static let command = ControlCommand(
    "jobs", abstract: "List jobs, look at one, retry, cancel or uncancel some.",
    examples: [
      Example("analysisctl jobs list --user u1 --state dead", "What died."),
      Example("analysisctl jobs show 123", "One job with its attempts and its result."),
      Example("analysisctl jobs retry --state dead --month current --dry-run", "What a retry would take."),
      Example("analysisctl jobs cancel 123 124", "Cancel two jobs and give their units back."),
      Example("analysisctl jobs uncancel 123", "Queue one of them again."),
    ],
    subcommands: [
      JobsListCommand.command, JobsShowCommand.command, JobsRetryCommand.command, JobsCancelCommand.command,
      JobsUncancelCommand.command,
    ])
}

/// The options by which jobs are chosen.
enum JobFilterOptions {
  static let user = Option<String?>("user", short: "u", .string, help: "Only this user's.")
  static let state = Option<JobState?>("state", .choice(JobState.self), help: "Only those in this state.")
  static let month = Option<MonthChoice?>("month", .monthChoice, help: "Only those that count in this month.")
  static let kind = Option<AnalysisKind?>(
    "type", short: "t", .choice(AnalysisKind.self), help: "Only of this type.")

  static let batch = Option<BatchID?>("batch", .batchID, help: "Only of this batch.")
  static let reference = Option<String?>(
    "reference", SubmitLimitsOfText.reference, help: "Only those that were submitted with this reference.")

  static let cause = Option<FailureCause?>(
    "cause", .failureCause, help: "Only dead of this cause: a class, or a class with its status or code.")

  static let all: [any Input] = [user, state, month, kind, batch, reference]
}

/// Which jobs are meant, the month still as it was asked for.
struct JobSelection: Sendable, Equatable {
  var user: String?
  var state: JobState?
  var month: MonthChoice?
  var kind: AnalysisKind?
  var batch: BatchID?
  var reference: String?
  var cause: FailureCause?

  /// Whether nothing narrows the choice.
  var isOfAll: Bool { self == JobSelection() }

  /// The choice, with the month that it means.
  func filter(_ database: ConnectionPool) async throws -> JobFilter {
    JobFilter(
      user: user, state: state, month: try await month?.period(database), kind: kind, batch: batch,
      reference: reference, cause: cause)
  }
}

extension JobSelection {
  init(_ context: ControlContext) throws(UsageError) {
    self.init(
      user: try context[JobFilterOptions.user], state: try context[JobFilterOptions.state],
      month: try context[JobFilterOptions.month], kind: try context[JobFilterOptions.kind],
      batch: try context[JobFilterOptions.batch], reference: try context[JobFilterOptions.reference])
  }
}

extension ValueFormat where Value == FailureCause {
  /// `server`, or `server 500 SERVER_ERROR`.
  static var failureCause: Self {
    ValueFormat(
      name: "CAUSE",
      read: { FailureCause($0) },
      else: "is no cause, which is a class and perhaps its status and its code; the classes are "
        + FailureClass.allCases.map(\.rawValue).joined(separator: ", "),
      text: \.description)
  }
}
