import CommandLineTool
import Queue
import Support

enum BatchesCancelCommand {
  static let command = ControlCommand(
    "cancel", abstract: "Cancel the jobs of a batch that have not ended, and give their units back.",
    discussion: """
      Jobs that have ended stay as they are. It says how many jobs are meant and asks, unless --yes is given; what \
      is cancelled is not analysed.
      """,
    examples: [
      Example("analysisctl batches cancel B17", "What is left of it."),
      Example("analysisctl batches cancel B17 --dry-run", "Only how many would be cancelled."),
    ],
    inputs: BatchesChange.inputs,
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater, .permission]
  ) { context in try await BatchesChange.run(.cancel, context) }
}

enum BatchesRetryCommand {
  static let command = ControlCommand(
    "retry", abstract: "Queue the dead jobs of a batch again.",
    discussion: """
      Each takes a unit of the present month of its user; those for which the limit has none left stay dead, and the \
      exit code is 3. It says how many jobs are meant and asks, unless --yes is given.
      """,
    examples: [Example("analysisctl batches retry B17 --yes", "All of them, in a script.")],
    inputs: BatchesChange.inputs,
    exitCodes: [
      .done, .quotaRefused, .refused, .nothingToDo, .usage, .unreachable, .tryLater, .permission,
    ]
  ) { context in try await BatchesChange.run(.retry, context) }
}

/// What `analysisctl batches cancel` and `batches retry` share.
enum BatchesChange {
  static let inputs: [any Input] = [
    JobChange.dryRun, Confirmation.yes, ReasonOption.reason, BatchesCommand.batch,
  ]

  /// More jobs than a batch has.
  private static let all = 10_000_000

  static func run(_ change: JobChange, _ context: ControlContext) async throws -> ExitCode {
    let batch = try context[BatchesCommand.batch]
    let isDryRun = try context[JobChange.dryRun]
    return try await context.withSession { session in
      try await JobDirectory(session.database).requireRight(to: change)
      let status = try await BatchesCommand.status(of: batch, session)
      let count = change == .cancel ? status.counts.open : status.counts.dead
      let response = BatchChangeResponse(
        batch: batch, change: change, meant: count, tally: [:], exitCode: .done)
      guard count > 0 else {
        try session.view.show(response)
        return .nothingToDo
      }
      guard !isDryRun else {
        return try session.show(response)
      }
      try await Confirmation.require("\(question(change, status, count)) Go on?", session)
      let changer = JobsChanger(change: change, database: session.database, actor: try session.actor)
      let changed = try await changer.run(
        try await changer.jobs(.selection(JobSelection(batch: batch), limit: all)))
      let answer = BatchChangeResponse(
        batch: batch, change: change, meant: count,
        tally: Dictionary(grouping: changed.lines) { line in
          if case .untouched = line.outcome { "unchanged" } else { line.outcome.word }
        }.mapValues(\.count),
        exitCode: changed.exitCode)
      try session.view.show(answer)
      return answer.exitCode
    }
  }

  private static func question(_ change: JobChange, _ status: BatchStatus, _ count: Int) -> String {
    let jobs = "\(count == 1 ? "1 job" : "\(count) jobs") of \(status.id) (\(status.shownName))"
    return change == .cancel
      ? "\(jobs) are cancelled; what is running is not stored."
      : "\(jobs) are queued again, and cost a unit each."
  }
}

/// How many jobs of a batch were changed, and how many were not.
struct BatchChangeResponse: Sendable, Equatable, Presentable {
  let batch: BatchID
  let change: JobChange
  /// How many were meant.
  let meant: Int
  /// How many came to what; empty where nothing was done.
  let tally: [String: Int]
  let exitCode: ExitCode

  var json: JSONValue {
    [
      "batch": .string(batch.description), "meant": .count(meant),
      "outcomes": .object(
        tally.sorted { $0.key < $1.key }.map { JSONValue.Member(name: $0.key, value: .count($0.value)) }),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard meant > 0 else { return "\(batch): no job to \(change.rawValue).\n" }
    guard !tally.isEmpty else { return "\(batch): \(meant) would be \(Self.words[wanted] ?? wanted).\n" }
    let parts = [wanted, "quota", "busy", "unchanged"].compactMap { word in
      tally[word].map { "\($0) \(Self.words[word] ?? word)" }
    }
    return "\(batch): \(parts.joined(separator: ", ")).\n"
  }

  private var wanted: String { change == .cancel ? "cancelled" : "requeued" }

  private static let words = [
    "cancelled": "cancelled", "requeued": "queued again", "quota": "refused by the monthly limit",
    "busy": "left as somebody else is changing them; try again",
    "unchanged": "unchanged: analysisctl jobs show NUMBER says why",
  ]
}
