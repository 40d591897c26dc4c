import CommandLineTool
import Queue
import Support

/// `analysisctl batches`.
enum BatchesCommand {
  static let batch = Argument("batch", .batchID, help: "The batch's number, with its B or without: B17.")

  static let command = ControlCommand(
    "batches", abstract: "See how far what was submitted together is, wait for it, cancel or retry it.",
    discussion: """
      A batch is what one run of analysisctl submit has submitted, or what a back-end has submitted in a batch that \
      it has made. A back-end sees its own batches; an operator and a clinician all of them, or those with users of \
      their clinics.
      """,
    examples: [
      Example("analysisctl batches list", "The newest ones."),
      Example("analysisctl batches watch B17", "How far one is, until it is done."),
      Example("analysisctl batches retry B17", "Queue its dead jobs again."),
    ],
    subcommands: [
      BatchesListCommand.command, BatchesShowCommand.command, BatchesWatchCommand.command,
      BatchesWaitCommand.command, BatchesCancelCommand.command, BatchesRetryCommand.command,
    ])

  /// A batch that is there and may be seen.
  static func status(of batch: BatchID, _ session: ControlSession) async throws -> BatchStatus {
    guard let status = try await BatchDirectory(session.database).status(of: batch) else {
      throw CommandFailure(
        .refused, "there is no batch \(batch) that this login may see",
        advice: "Look with analysisctl batches list.")
    }
    return status
  }
}

extension ValueFormat where Value == BatchID {
  /// `B17` or `17`.
  static var batchID: Self {
    ValueFormat(
      name: "BATCH",
      read: { BatchID($0) },
      else: "is not a batch's number, such as B17",
      text: \.description)
  }
}

extension BatchStatus {
  /// `B17: 40 of 100 done, 1 failed, 2.0/s, 30 s left`, `B17: 40 of 100 done, 60 left, no worker`.
  var line: String {
    var parts = ["\(counts.succeeded) of \(counts.jobs) done"]
    if counts.dead > 0 { parts.append("\(counts.dead) failed") }
    if counts.cancelled > 0 { parts.append("\(counts.cancelled) cancelled") }
    if let refused, refused > 0 { parts.append("\(refused) refused") }
    if counts.open > 0 {
      if let shownRate { parts.append(shownRate) }
      parts.append(secondsLeft.map { "\(Moment.age($0.rounded(.up))) left" } ?? "\(counts.open) left")
      if let queue, queue.name != .working { parts.append(queue.words) }
    }
    return "\(id): " + parts.joined(separator: ", ")
  }

  /// 1 where a job failed; cancelled ones were meant to be.
  var exitCode: ExitCode { counts.dead > 0 ? .jobFailed : .done }
}

/// Shows how far a batch is.
extension BatchStatus: Presentable {
  var json: JSONValue {
    [
      "batch": .string(id.description), "name": .text(name), "created_at": .time(createdAt),
      "login": .text(login), "total": .count(counts.jobs), "done": .count(counts.succeeded),
      "failed": .count(counts.dead), "cancelled": .count(counts.cancelled), "refused": .count(refused),
      "open": .count(counts.open), "rate": counts.rate.map(JSONValue.number) ?? .null,
      "seconds_left": secondsLeft.map(JSONValue.number) ?? .null,
      "state": .text(queue?.name.rawValue), "state_reason": .text(queue?.why),
      "last_ended_at": .time(counts.lastAt),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    Facts([
      ("batch", id.description), ("name", name), ("made", Moment.short(createdAt)), ("by", login),
      ("total", String(counts.jobs)), ("done", String(counts.succeeded)), ("failed", String(counts.dead)),
      ("cancelled", counts.cancelled > 0 ? String(counts.cancelled) : nil),
      ("refused", refused.map(String.init)), ("open", String(counts.open)), ("rate", shownRate),
      ("time left", shownTimeLeft), ("last ended", Moment.short(counts.lastAt)),
    ]).text
  }
}
