import CommandLineTool
import Formatting
import Reports

/// `analysisctl report`.
enum ReportCommand {
  static let month = Option(
    "month", .monthChoice, default: MonthChoice.current, help: "YYYY-MM, current or previous.")
  static let zone = Option<String?>(
    "zone", .string,
    help: "The IANA time zone in which times are shown; each user's own unless given. It changes "
      + "no number.")
  static let format = Option<ReportFormat?>(
    "format", .choice(ReportFormat.self),
    help: "How it is written; by --out's ending, else table, unless given.")
  static let excel = Flag("excel", help: "Begin a CSV with the mark by which spreadsheets know UTF-8.")
  static let out = Option<String?>(
    "out", short: "o", .path,
    help: "Write to this file: whole or not at all, readable by you alone; beside it "
      + "FILE.json says what it holds.")
  static let due = Option<String?>(
    "due", .folder,
    help: "Write usage-YYYY-MM.csv to this folder for every month that can be closed and whose "
      + "file is missing or differs.")

  static func command(_ dependencies: Dependencies) -> Command {
    Command(
      "report", abstract: "Print a month's usage, analyses, conditions or totals.",
      examples: [
        Example("analysisctl report usage", "What everybody has used this month."),
        Example(
          "analysisctl report usage --month previous --out usage.csv", "Last month's for the accounts."),
        Example("analysisctl report usage --due /var/lib/analysis/reports", "What cron runs."),
        Example("analysisctl report conditions --month 2026-10 --json", "What was found, for a program."),
      ],
      subcommands: [
        usage(dependencies),
        leaf(
          .analyses, abstract: "A row an analysis: what was found, and how surely.",
          example: "analysisctl report analyses --month previous --out analyses.csv --excel", dependencies),
        leaf(
          .conditions, abstract: "A row a condition: how often it was found in each band.",
          example: "analysisctl report conditions --month 2026-10", dependencies),
        leaf(
          .summary, abstract: "A row a number: the month's totals.",
          example: "analysisctl report summary", dependencies),
      ])
  }

  private static func leaf(
    _ kind: ReportKind, abstract: String, example: String, _ dependencies: Dependencies
  ) -> Command {
    let inputs: [any Input] = [month, zone, format, excel, out]
    return Command(
      kind.rawValue, abstract: abstract,
      discussion: kind.tellsDiagnoses
        ? "Who reads it, and why, is recorded first: see analysisctl audit. A standby cannot, and refuses it."
        : "",
      examples: [Example(example, "This report.")],
      inputs: kind.tellsDiagnoses ? inputs + [ReasonOption.reason] : inputs,
      exitCodes: [.done, .jobsStillOpen, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      try await run(try ReportArguments(kind, context.values), context, dependencies)
    }
  }

  private static func usage(_ dependencies: Dependencies) -> Command {
    Command(
      "usage", abstract: "A row a user: plan, limit, and what was used, refunded and refused.",
      discussion: """
        The report of a month is a draft until the time of grace after its end is over (3 days after the month has \
        ended everywhere). The first report after that closes the month: from then on it comes out the same for ever. \
        What changes later is an adjustment in a later month. Exit code 6 says that the month is over and jobs of it \
        are still open; 5 that the file was there already and is the same.

        With --due every month is looked at that is over: 0 says that a file was written, and 5 that there was \
        nothing to do. 6 says that nothing was written and a month that is over could not be closed yet, since its \
        time of grace is running. Jobs that are still open when the grace is over do not hold the month up.
        """,
      examples: [
        Example("analysisctl report usage --month 2026-10", "On the terminal."),
        Example("analysisctl report usage --month previous --out usage.csv", "For the accounts."),
        Example("analysisctl report usage --due /var/lib/analysis/reports", "What cron runs."),
      ],
      inputs: [month, zone, format, excel, out, due],
      exitCodes: [.done, .nothingToDo, .jobsStillOpen, .usage, .unreachable, .tryLater, .permission]
    ) { context in
      let order = try ReportArguments(.usage, context.values)
      guard let folder = try context.values[due] else { return try await run(order, context, dependencies) }
      try order.checkAlone(context.values)
      return try await context.withSession(dependencies) { session in
        let request = DueRequest(folder: folder, zone: order.zone, excel: order.excel)
        let response = try await DueInteractor(database: session.database).answer(request)
        try session.view.show(response, by: DuePresenter.self)
        return response.exitCode
      }
    }
  }

  private static func run(
    _ order: ReportArguments, _ context: Context, _ dependencies: Dependencies
  ) async throws -> ExitCode {
    try await context.withSession(dependencies) { session in
      try await ReportRun(session: session).answer(order)
    }
  }
}
