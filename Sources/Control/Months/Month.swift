import CommandLineTool
import Support

/// `analysisctl month`.
enum MonthCommand {
  static let command = ControlCommand(
    "month", abstract: "Show the months, and close them.",
    discussion: """
      A month is running until it is over in every time zone, then in its time of grace (statement_grace, 3 days \
      unless it was changed), then due until somebody closes it. The usage of a closed month is stated and never \
      changes.
      """,
    examples: [
      Example("analysisctl month", "The months, and which of them are closed."),
      Example("analysisctl month close 2026-10", "State the usage of a month once and for all."),
      Example("analysisctl month close --due --yes", "What the timer runs."),
    ],
    subcommands: [list, MonthCloseCommand.command],
    exitCodes: exitCodes
  ) { context in
    try await show(context)
  }

  private static let list = ControlCommand(
    "list", abstract: "Show the months, as month alone does.",
    examples: [Example("analysisctl month list --json", "For a program.")],
    exitCodes: exitCodes
  ) { context in
    try await show(context)
  }

  private static let exitCodes: [ExitCode] = [.done, .usage, .unreachable, .tryLater, .permission]

  private static func show(_ context: ControlContext) async throws -> ExitCode {
    try await context.withSession { session in
      let directory = MonthDirectory(session.database)
      var lines: [MonthsResponse.Line] = []
      for month in try await directory.list() {
        let open = month.state == .closed ? nil : try await directory.openJobs(of: month.period)
        lines.append(.init(month: month, openJobs: open))
      }
      try session.view.show(MonthsResponse(lines: lines))
      return .done
    }
  }
}

/// The months with their states.
struct MonthsResponse: Sendable, Equatable, Presentable {
  struct Line: Sendable, Equatable {
    let month: BilledMonth
    /// How many jobs have not ended; nil of a closed month, whose bill they do not touch.
    let openJobs: Int?
  }

  let lines: [Line]

  var json: JSONValue {
    [
      "months": .array(
        lines.map { line in
          [
            "month": .month(line.month.period), "state": .string(line.month.state.rawValue),
            "closable_from": .time(line.month.dueAt), "closed_at": .time(line.month.closedAt),
            "lines": .count(line.month.lines), "open_jobs": .count(line.openJobs),
          ]
        })
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    var table = Table([
      .init("MONTH"), .init("STATE"), .init("CLOSABLE FROM"), .init("CLOSED"),
      .init("LINES", alignment: .right), .init("OPEN JOBS", alignment: .right),
    ])
    for line in lines {
      let month = line.month
      table.add([
        Cell(month.period.description), Cell(month.state.rawValue, Self.colours[month.state] ?? nil),
        Cell(Moment.short(month.dueAt)), Cell(Moment.short(month.closedAt)),
        Cell(month.lines.map(String.init) ?? ""), Cell(line.openJobs.map(String.init) ?? ""),
      ])
    }
    return table.render(width: width, paint: paint)
  }

  private static let colours: [BilledMonth.State: Paint.Colour] = [
    .closed: .green, .due: .yellow, .grace: .dim,
  ]
}
