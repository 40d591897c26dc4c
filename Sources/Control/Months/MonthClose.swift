import CommandLineTool
import Support

enum MonthCloseCommand {
  static let month = Argument(
    optional: "month", .monthChoice, help: "YYYY-MM or previous; --due for all that can be closed.")
  static let due = Flag(
    "due", help: "Close every month that is over with its time of grace, the oldest first.")
  static let dryRun = Flag("dry-run", help: "Say what would be stated, and close nothing.")

  static let command = ControlCommand(
    "close", abstract: "Close a month: state its usage once and for all.",
    discussion: """
      It says what would be stated and asks. Timers and scripts give --yes. From then on analysisctl report usage \
      writes the same bytes for that month, for ever. What changes later is an adjustment, a line of the next \
      month's statement.

      A month can be closed when it is over in every time zone and its time of grace has passed. Before, the exit \
      code is 75, and the message says from when on. Jobs that have not ended hold nothing up: they are stated as \
      used. Months are closed in their order, so that what changed in one is adjusted in the next: while an earlier \
      one is due, the exit code is 4.

      5 says that there was nothing to close, or that it is closed already.
      """,
    examples: [
      Example("analysisctl month close 2026-10", "See what it comes to, and close it."),
      Example("analysisctl month close previous --dry-run", "Only see what it comes to."),
      Example("analysisctl month close --due --yes", "What the timer runs, before the report."),
    ],
    inputs: [due, dryRun, Confirmation.yes, ReasonOption.reason, month],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater, .permission],
    timerSuccesses: [.done, .nothingToDo]
  ) { context in
    let (choice, isDry) = (try context[month], try context[dryRun])
    switch (choice, try context[due]) {
    case (nil, false):
      throw CommandFailure.usage(
        "no month is named",
        advice: "Name it, as in analysisctl month close 2026-10, or give --due for all that can be closed.")
    case (_?, true): throw CommandFailure.usage("give either a month or --due")
    default: break
    }
    if try !isDry && !context[Confirmation.yes] { try Confirmation.requireTerminal(context) }
    return try await context.withSession { session in
      let directory = MonthDirectory(session.database)
      try await directory.requireRight()
      let months = try await directory.list()
      let chosen = try await choice?.period(session.database)
      if let chosen, let response = try await settled(chosen, months, directory) {
        try session.view.show(response)
        return response.exitCode
      }
      let closing = months.filter { $0.state == .due && (chosen == nil || $0.period == chosen) }.map(\.period)
      return try await MonthClosing(session: session, directory: directory).run(closing, isDry: isDry)
    }
  }

  /// The answer where there is nothing to close; nil where a month can be closed.
  ///
  /// - Throws: `CommandFailure` where it cannot be closed yet.
  private static func settled(
    _ month: Period, _ months: [BilledMonth], _ directory: MonthDirectory
  ) async throws -> MonthCloseResponse? {
    guard let first = months.first?.period, month >= first else {
      return MonthCloseResponse(lines: [.init(month: month, outcome: .unused)])
    }
    guard let found = months.first(where: { $0.period == month }) else {
      throw tooEarly("\(month) has not begun", month, try await directory.dueAt(of: month))
    }
    switch found.state {
    case .closed: return MonthCloseResponse(lines: [.init(month: month, outcome: .already(found))])
    case .running: throw tooEarly("\(month) is not over in every time zone", month, found.dueAt)
    case .grace: throw tooEarly("\(month) is over, and in its time of grace", month, found.dueAt)
    case .due: break
    }
    if let earlier = months.first(where: { $0.state == .due && $0.period < month })?.period {
      throw CommandFailure(
        .refused, "\(earlier) is not closed, and months are closed in their order.",
        advice: "Close it first with \(BilledMonth.commandToClose(earlier)), or all that can be closed with "
          + "analysisctl month close --due.")
    }
    return nil
  }

  private static func tooEarly(_ state: String, _ month: Period, _ dueAt: Double) -> CommandFailure {
    CommandFailure(
      .tryLater, "\(state): it may be closed from \(Moment.short(dueAt)) on.",
      advice: "Until then analysisctl report usage --month \(month) writes a draft.")
  }
}

/// Closes months, once it was said what that means.
private struct MonthClosing {
  let session: ControlSession
  let directory: MonthDirectory

  func run(_ months: [Period], isDry: Bool) async throws -> ExitCode {
    let isAsking = try !months.isEmpty && !isDry && !session.context[Confirmation.yes]
    if isDry || isAsking {
      var previews: [ClosingPreview] = []
      for month in months { previews.append(try await directory.preview(month)) }
      let preview = MonthCloseResponse(lines: previews.map { .init(month: $0.period, outcome: .meant($0)) })
      if isDry {
        try session.view.show(preview)
        return preview.exitCode
      }
      try await Confirmation.require(
        preview.text(width: 80, paint: Paint(false)) + "A closed month is never changed. Close "
          + (months.count == 1 ? "it?" : "these \(months.count) months?"), session)
    }
    return try await close(months)
  }

  /// Each in a transaction of its own, the oldest first. When one fails, what was closed before is said.
  private func close(_ months: [Period]) async throws -> ExitCode {
    var closed: Set<Period> = []
    do {
      for month in months where try await directory.close(month, by: try session.actor) {
        closed.insert(month)
      }
    } catch {
      if !closed.isEmpty { try await show(months.filter(closed.contains), closed) }
      throw error
    }
    return try await show(months, closed)
  }

  @discardableResult
  private func show(_ months: [Period], _ closed: Set<Period>) async throws -> ExitCode {
    let states = months.isEmpty ? [] : try await directory.list()
    let response = MonthCloseResponse(
      lines: months.compactMap { month in
        states.first { $0.period == month }.map {
          .init(month: month, outcome: closed.contains(month) ? .closed($0) : .already($0))
        }
      })
    try session.view.show(response)
    return response.exitCode
  }
}

/// What became of each month that was to be closed. Where nobody watches, a run that found none says nothing.
struct MonthCloseResponse: Sendable, Equatable, Presentable {
  enum Outcome: Sendable, Equatable {
    case closed(BilledMonth)
    case already(BilledMonth)
    /// Nothing was used in it or before.
    case unused
    /// What would be stated.
    case meant(ClosingPreview)
  }

  struct Line: Sendable, Equatable {
    let month: Period
    let outcome: Outcome
  }

  let lines: [Line]

  /// 0 if a month was closed, or would be, else 5.
  var exitCode: ExitCode {
    let isDone = lines.contains {
      switch $0.outcome {
      case .closed, .meant: true
      case .already, .unused: false
      }
    }
    return isDone ? .done : .nothingToDo
  }

  private var previews: [ClosingPreview] {
    lines.compactMap { if case .meant(let preview) = $0.outcome { preview } else { nil } }
  }

  /// What is adjusted by all the closings together: what the last one finds changed. One before it states a part of
  /// that, which the last then finds stated.
  private var adjustments: (lines: Int, units: Int) {
    previews.last.map { ($0.adjustments, $0.adjusted) } ?? (0, 0)
  }

  var json: JSONValue {
    [
      "months": .array(lines.map(Self.json(of:))),
      "adjustments": previews.isEmpty ? .null : .count(adjustments.lines),
    ]
  }

  private static func json(of line: Line) -> JSONValue {
    switch line.outcome {
    case .closed(let month), .already(let month):
      [
        "month": .month(line.month), "outcome": .string(line.word), "closed_at": .time(month.closedAt),
        "lines": .count(month.lines),
      ]
    case .unused: ["month": .month(line.month), "outcome": .string(line.word)]
    case .meant(let preview):
      [
        "month": .month(line.month), "outcome": .string(line.word), "users": .count(preview.users),
        "active": .count(preview.active), "used": .count(preview.used), "over": .count(preview.over),
        "open_jobs": .count(preview.open),
      ]
    }
  }

  func text(width: Int?, paint: Paint) -> String {
    guard !lines.isEmpty else { return width == nil ? "" : "No month can be closed.\n" }
    guard previews.isEmpty else { return text(of: previews, width: width, paint: paint) }
    return lines.map { line in
      switch line.outcome {
      case .closed(let month): "\(line.month) \(paint.green("closed")) with \(month.lines ?? 0) lines\n"
      case .already(let month):
        "\(line.month) is closed already, since \(Moment.short(month.closedAt)), with \(month.lines ?? 0) lines\n"
      case .unused: "Nothing was used in \(line.month) or before: there is nothing to close.\n"
      case .meant: ""
      }
    }.joined()
  }

  private func text(of previews: [ClosingPreview], width: Int?, paint: Paint) -> String {
    let table = previews.table([
      .init("MONTH") { Cell($0.period.description) },
      .init("USERS", alignment: .right) { Cell($0.users) },
      .init("WITH USE", alignment: .right) { Cell($0.active) },
      .init("USED", alignment: .right) { Cell($0.used) },
      .init("OVER LIMIT", alignment: .right) { Cell($0.over) },
      .init("OPEN JOBS", alignment: .right) { Cell($0.open) },
    ])
    var text = "This would be stated:\n" + table.render(width: width, paint: paint)
    if previews.contains(where: { $0.open > 0 }) {
      text +=
        "Open jobs are stated as used; one that gives its unit back later is adjusted in a later month.\n"
    }
    let (count, units) = adjustments
    text +=
      count == 0
      ? "No closed month has changed since it was stated.\n"
      : "Adjustments of closed months: \(count) lines, \(units) units.\n"
    return text
  }
}

extension MonthCloseResponse.Line {
  /// The outcome in a word, for programs.
  fileprivate var word: String {
    switch outcome {
    case .closed: "closed"
    case .already: "unchanged"
    case .unused: "unused"
    case .meant: "dry_run"
    }
  }
}
