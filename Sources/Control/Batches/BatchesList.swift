import CommandLineTool
import Queue
import Support

enum BatchesListCommand {
  static let limit = Option("limit", .int(in: 1...1000), default: 20, help: "How many at most.")
  static let before = Option<BatchID?>("before", .batchID, help: "Only those that were made before this one.")

  static let command = ControlCommand(
    "list", abstract: "List batches, the newest first, with how far they are.",
    discussion: """
      LEFT is how long the rest takes at the rate of the last minute; a question mark where nothing ended in it.

      For a login that is restricted to clinics a list looks at about \(BatchDirectory.looks) jobs. If its batches are \
      rarer than that, the list ends before it is full, perhaps empty, says where the search goes on, and the exit \
      code is 7.
      """,
    examples: [
      Example("analysisctl batches list", "The newest ones."),
      Example("analysisctl batches list --before B17 --json", "Earlier ones, for a program."),
    ],
    inputs: [limit, before], exitCodes: [.done, .cutShort, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let (limit, before) = (try context[limit], try context[before])
    return try await context.withSession { session in
      let list = try await BatchDirectory(session.database).list(before: before, limit: limit)
      try session.view.show(BatchListResponse(list: list))
      if let next = list.next {
        session.view.sayUnlessJSON(
          list.isCutShort
            ? "The search stopped here, and there may be more: --before \(next)"
            : "There are more: --before \(next)")
      }
      return list.isCutShort ? .cutShort : .done
    }
  }
}

/// Some batches, the newest first.
struct BatchListResponse: Sendable, Equatable, Presentable {
  let list: BatchList

  var json: JSONValue {
    [
      "batches": .array(list.batches.map(\.json)), "next": .text(list.next?.description),
      "cut_short": .bool(list.isCutShort),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !list.batches.isEmpty else { return list.isCutShort ? "No batches so far.\n" : "No batches.\n" }
    return list.batches.table([
      .init("BATCH") { Cell($0.id.description) },
      .init("NAME", shrinks: true) { Cell($0.name ?? "") },
      .init("MADE") { Cell(Moment.short($0.createdAt)) },
      .init("TOTAL", alignment: .right) { Cell($0.counts.jobs) },
      .init("DONE", alignment: .right) { Cell($0.counts.succeeded) },
      .init("FAILED", alignment: .right) { Cell($0.counts.dead, $0.counts.dead > 0 ? .red : nil) },
      .init("CANCELLED", alignment: .right) { Cell($0.counts.cancelled) },
      .init("REFUSED", alignment: .right, mayGo: true) { Cell($0.refused.map(String.init) ?? "") },
      .init("LEFT", alignment: .right) { Cell($0.shownTimeLeft ?? "") },
    ]).render(width: width, paint: paint)
  }
}

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

enum BatchesShowCommand {
  static let command = ControlCommand(
    "show", abstract: "Show how far a batch is, and why jobs of it failed.",
    discussion: """
      The rate is that of the last minute. What was refused has no job. Cancelled jobs count among the total, and \
      neither as done nor as failed. The jobs themselves: analysisctl jobs list --batch B17.
      """,
    examples: [Example("analysisctl batches show B17", "One batch.")],
    inputs: [BatchesCommand.batch],
    exitCodes: [.done, .refused, .usage, .unreachable, .tryLater, .permission]
  ) { context in
    let batch = try context[BatchesCommand.batch]
    return try await context.withSession { session in
      let status = try await BatchesCommand.status(of: batch, session)
      let causes =
        status.counts.dead > 0 ? try await BatchDirectory(session.database).causes(of: batch) : []
      return try session.show(BatchDetail(status: status, causes: causes))
    }
  }
}

/// A batch with the causes of its failures.
struct BatchDetail: Sendable, Equatable, Presentable {
  let status: BatchStatus
  let causes: [BatchCause]

  private static let columns: [ListColumn<BatchCause>] = [
    .init("FAILED", alignment: .right) { Cell($0.count, .red) },
    .init("CLASS") { Cell($0.failureClass) }.json("class") { .string($0.failureClass) },
    .init("CODE", shrinks: true) { Cell($0.code ?? "") }.json("code") { .text($0.code) },
    .init(json: "jobs") { .count($0.count) },
    .init("LAST JOB", alignment: .right) { Cell($0.lastJob.description) }
      .json("last_job") { .id($0.lastJob) },
  ]

  var json: JSONValue {
    guard case .object(let members) = status.json else { return .null }
    return .object(members + [JSONValue.Member(name: "causes", value: causes.json(Self.columns))])
  }

  func text(width: Int?, paint: Paint) -> String {
    let text = status.text(width: width, paint: paint)
    guard !causes.isEmpty else { return text }
    return text + "\n" + causes.table(Self.columns).render(width: width, paint: paint)
  }
}
