import CommandLineTool
import Queue
import Support

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
  static let excel = Flag(
    "excel", help: "Write a CSV as Excel reads it: marked as UTF-8, and 00123 kept as text.")
  static let out = Option<String?>(
    "out", short: "o", .path,
    help: "Write to this file: whole or not at all, readable by you alone; beside it "
      + "FILE.json says what it holds. Of a link the target is replaced; a pipe or a device is written to.")
  static let due = Option<String?>(
    "due", .folder,
    help: "Write usage-YYYY-MM.csv to this folder for every closed month whose file is missing or differs.")

  static let clinic = Option<String?>(
    "clinic", .string, help: "Only users who are of this clinic now, by its name.")
  static let user = Option<String?>("user", .string, help: "Only this user.")
  static let allUsers = Flag(
    "all-users", help: "A line in the table for users who used nothing, too. CSV and JSON always have it.")
  static let prices = Flag(
    "prices",
    help:
      "Beside each line the clinic, units, unit price, amount and currency of the bill. With --due, in months in "
      + "which something has a price.")
  static let grouping = Option<UsageScope.Grouping?>(
    "by", .choice(UsageScope.Grouping.self), help: "Add up the units of the month, or of --from to --to.")
  static let from = Option<String?>("from", .day, help: "With --by: the first day, by each user's clocks.")
  static let to = Option<String?>(
    "to", .day, help: "With --by: the last day, which counts too; at most 366 days.")

  static let fromMonth = Option<MonthChoice?>(
    "from", .monthChoice, help: "Instead of --month: the first month, with --to.")
  static let toMonth = Option<MonthChoice?>(
    "to", .monthChoice, help: "The last month, which counts too; at most \(mostMonths) months.")
  /// How many months of reviews are added up at once.
  static let mostMonths = 120

  static let command = ControlCommand(
    "report", abstract: "Print a month's usage, analyses, conditions, totals or reviews.",
    examples: [
      Example("analysisctl report usage", "What everybody has used this month."),
      Example(
        "analysisctl report usage --month previous --out usage.csv", "Last month's for the accounts."),
      Example(
        "analysisctl report usage --from 2026-10-01 --to 2026-10-31 --by clinic", "A row a clinic."),
      Example("analysisctl report usage --due /var/lib/analysis/reports --prices", "What cron runs."),
      Example("analysisctl report conditions --month 2026-10 --json", "What was found, for a program."),
    ],
    subcommands: [
      usage,
      leaf(
        .analyses, abstract: "A row an analysis: what was found, and how surely.",
        example: "analysisctl report analyses --month previous --out analyses.csv --excel"),
      leaf(
        .conditions, abstract: "A row a condition: how often it was found in each band.",
        discussion: smallCounts, example: "analysisctl report conditions --month 2026-10"),
      leaf(
        .summary, abstract: "A row a number: the month's totals.", discussion: smallCounts,
        example: "analysisctl report summary"),
      leaf(
        .agreement, abstract: "A row a condition and band: how often clinicians agree with it.",
        discussion: """
          The present verdict of each clinician and job counts (see analysisctl reviews), by the primary condition of \
          the analysis. Agreement is the share of those who agree among those who agree or disagree; Low and High are \
          its Wilson interval of 95 %. Who is unsure counts apart. Persons counts each user once. The last row is all \
          together.

          \(smallReviews)
          """,
        example: "analysisctl report agreement --month previous"),
      leaf(
        .calibration, abstract: "A row a tenth of confidence: whether 80 % means 80 %.",
        discussion: """
          Of the verdicts of analyses with about the same confidence: the mean confidence, the share of clinicians who \
          agree, with its Wilson interval of 95 %, and by how much the two differ. In the last row that is the expected \
          calibration error: the mean of the tenths' errors, each weighted by its verdicts. Analyses without a \
          condition have no confidence and are left out.

          \(smallReviews)
          """,
        example: "analysisctl report calibration --from 2026-09 --to 2026-11"),
    ])

  /// What they are told of the reports of reviews besides.
  private static let smallReviews = "\(smallCounts) Such a login reads one month at a time."

  /// What logins are told that see some clinics only.
  private static let smallCounts = """
    To a login that sees some clinics only, a count of fewer persons than the setting report_threshold (5) is shown as \
    <5, and so is the next smallest where a sum would give it away. In JSON it is null, and `hidden` names its column.
    """

  private static func leaf(
    _ kind: ReportKind, abstract: String, discussion: String = "", example: String
  ) -> ControlCommand {
    let inputs: [any Input] =
      kind.isOfReviews
      ? [month, fromMonth, toMonth, format, excel, out] : [month, zone, format, excel, out]
    let recorded =
      kind.hasDiagnoses
      ? "Who reads it, and why, is recorded first: see analysisctl audit. A standby cannot, and refuses it."
      : ""
    return ControlCommand(
      kind.rawValue, abstract: abstract,
      discussion: [recorded, discussion].filter { !$0.isEmpty }.joined(separator: "\n\n"),
      examples: [Example(example, "This report.")],
      inputs: kind.hasDiagnoses ? inputs + [ReasonOption.reason] : inputs,
      exitCodes: kind.isOfReviews
        ? [.done, .refused, .usage, .unreachable, .tryLater, .permission]
        : [.done, .jobsStillOpen, .usage, .unreachable, .tryLater, .permission],
      feature: kind.isOfReviews ? .reviews : nil
    ) { context in
      try await run(try ReportArguments(kind, context), context)
    }
  }

  private static let usage = ControlCommand(
    "usage", abstract: "A row a user: plan, limit, and what was used, refunded and refused.",
    discussion: """
      The report of a month is a draft until somebody closes the month with analysisctl month close: to read \
      closes nothing. From then on it comes out the same for ever. What changes later is an adjustment in a later \
      month. Exit code 6 says that the month is over, not closed, and jobs of it are still open; 5 that the file \
      was there already and is the same.

      The table ends with the sum of its lines. It leaves out users who used nothing, erased persons among them; \
      --all-users shows them. CSV and JSON have a line for each user and no sum: programs add up themselves, and a \
      file of a closed month comes out the same for ever.

      With --prices the columns clinic, units, unit_price, amount and currency come behind the others, and their sums \
      are those of analysisctl statement, to the cent. Where a plan, limit or price changed within a month, each part \
      before the last has a line of its own, called segment, that has no counts. Of a closed month a line belongs to \
      the clinic that is billed; a user who used nothing, and a plan without a price, has nothing there.

      With --by there is a row for each day, clinic, plan or type. A unit counts on the day on which it was taken by \
      the user's own clocks, as in a statement, under the plan of that moment; all that became of it stands in the \
      same row. It is as it is now, of closed months too, without submits that were refused.

      With --due the statement of every closed month is written that is not there yet: 0 says that a file was \
      written, and 5 that there was nothing to do. 6 says that nothing was written and a month that is over is not \
      closed. Months that could be closed are named, with the command.
      """,
    examples: [
      Example("analysisctl report usage --month 2026-10", "On the terminal."),
      Example("analysisctl report usage --month previous --out usage.csv", "For the accounts."),
      Example(
        "analysisctl report usage --from 2026-10-01 --to 2026-10-07 --by day", "A week's days."),
      Example("analysisctl report usage --month 2026-10 --by type --user u1", "What one user used it for."),
      Example(
        "analysisctl report usage --month previous --prices --out usage.csv", "What last month is billed by."),
      Example(
        "analysisctl report usage --due /var/lib/analysis/reports --prices",
        "What cron runs, after month close."),
    ],
    inputs: [month, from, to, grouping, clinic, user, allUsers, prices, zone, format, excel, out, due],
    exitCodes: [.done, .refused, .nothingToDo, .jobsStillOpen, .usage, .unreachable, .tryLater, .permission],
    timerSuccesses: [.done, .nothingToDo, .jobsStillOpen]
  ) { context in
    let arguments = try ReportArguments(.usage, context)
    guard let folder = try context[due] else { return try await run(arguments, context) }
    return try await context.withSession { session in
      let statements = DueStatements(
        folder: folder, zone: arguments.zone, excel: arguments.excel,
        hasPrices: arguments.usage?.hasPrices ?? false)
      let response = try await statements.write(
        Reporter(session.database), of: try await MonthDirectory(session.database).list())
      try session.view.show(response)
      return response.exitCode
    }
  }

  private static func run(
    _ arguments: ReportArguments, _ context: ControlContext
  ) async throws -> ExitCode {
    if let out = arguments.out { try AtomicFile.check(out) }
    return try await context.withSession { session in
      try await ReportRun(arguments: arguments, session: session).run()
    }
  }
}

/// What the command line asks of a report.
struct ReportArguments: Sendable {
  let kind: ReportKind
  let month: MonthChoice
  let zone: String?
  let format: ReportFormat
  let excel: Bool
  let out: String?
  /// Why it is read, for the audit.
  let reason: String?
  /// Of a report of usage: whose, and in which rows.
  let usage: UsageArguments?
  /// The first and the last of the months of a report of reviews; nil for one month.
  let months: (from: MonthChoice, to: MonthChoice)?

  init(_ kind: ReportKind, _ context: ControlContext) throws {
    self.kind = kind
    month = try context[ReportCommand.month]
    zone = try kind.isOfReviews ? nil : context[ReportCommand.zone]
    months = try kind.isOfReviews ? Self.months(context) : nil
    excel = try context[ReportCommand.excel]
    // A dash is standard output, as it is without the option.
    out = try context[ReportCommand.out].flatMap { $0 == "-" ? nil : $0 }
    reason = try kind.hasDiagnoses ? context[ReasonOption.reason] : nil
    let given = try context[ReportCommand.format]
    let isJSON = context.view.isJSON
    if isJSON, let given, given != .json {
      throw CommandFailure.usage("--json and --format \(given.rawValue) contradict each other")
    }
    let isDue = try kind == .usage && context[ReportCommand.due] != nil
    format = try given ?? (isJSON ? .json : isDue ? .csv : Self.format(of: out))
    if excel, format != .csv, !isDue {
      throw CommandFailure.usage("--excel is of use only with --format csv")
    }
    usage = kind == .usage ? try UsageArguments(context, format: format) : nil
  }

  private static func months(_ context: ControlContext) throws -> (from: MonthChoice, to: MonthChoice)? {
    switch (try context[ReportCommand.fromMonth], try context[ReportCommand.toMonth]) {
    case (nil, nil): return nil
    case (let from?, let to?):
      guard context.values.source(of: ReportCommand.month) != .commandLine else {
        throw CommandFailure.usage("--month and --from cannot be given together")
      }
      return (from, to)
    default:
      throw CommandFailure.usage(
        "--from and --to are given together", advice: "Both months count; --month is of one.")
    }
  }

  /// A file's ending says how it is to be written.
  private static func format(of file: String?) throws(CommandFailure) -> ReportFormat {
    guard let file else { return .table }
    switch file.lowercased().split(separator: ".").last {
    case "csv": return .csv
    case "json": return .json
    case "txt": return .table
    default:
      throw .usage(
        "the ending of \(printable(file)) does not say how to write it",
        advice: "Name a file that ends in .csv, .json or .txt (a table), or give --format.")
    }
  }
}

/// Writes one report to standard output or a file, and says what it wrote. The module `Reports` makes the rows.
private struct ReportRun {
  let arguments: ReportArguments
  let session: ControlSession

  func run() async throws -> ExitCode {
    let month = try await month()
    let request = ReportRequest(
      arguments.kind, month: month, zone: arguments.zone, format: arguments.format, excel: arguments.excel,
      width: arguments.out == nil ? session.view.width : nil,
      scope: arguments.usage?.scope(month) ?? UsageScope(), lastMonth: try await lastMonth(behind: month))
    let console = session.console
    let bar = arguments.out.map { _ in ProgressBar("rows", total: nil, console: console) }
    defer { bar?.finish() }
    let outcome: ReportOutcome
    do {
      outcome = try await Reporter(session.database).run(
        request, to: destination, by: session.actor(arguments.reason).statement,
        detail: (["format": .string(arguments.format.rawValue), "file": .bool(arguments.out != nil)]
          as JSONValue)
          .json,
        progress: { rows in bar?.update(done: rows, total: nil) })
    } catch {
      // Whoever reads our output has read enough: that is said in its own way.
      throw error.underlying as? WriteError ?? error
    }
    bar?.finish()
    if let out = arguments.out { console.say(sentence(outcome, request, file: out)) }
    if let at = outcome.standbyChangedAt {
      console.say("Read from a standby, whose last change is of \(Moment.short(at)).")
    }
    if let since = outcome.removedSince {
      console.say(
        "Results of \(request.span) have been removed since \(Moment.short(since)), after the time for which they are "
          + "kept (keep_results); this report holds what is left of them.")
    }
    if outcome.canBeClosed {
      console.say(
        "\(month) is not closed; this is a draft. Close it with \(BilledMonth.commandToClose(month)).")
    }
    switch outcome.kind {
    case .written: return .done
    case .nothingToDo: return .nothingToDo
    case .openJobs:
      let jobs = outcome.openJobs == 1 ? "1 job of \(month) is" : "\(outcome.openJobs) jobs of \(month) are"
      console.say("\(jobs) still open; this is a draft.")
      return .jobsStillOpen
    }
  }

  /// The month, the first of several, or that of the first of the days.
  private func month() async throws -> Period {
    if let month = arguments.usage?.firstMonth { return month }
    return try await (arguments.months?.from ?? arguments.month).period(session.database)
  }

  /// The last of several months.
  private func lastMonth(behind month: Period) async throws -> Period? {
    guard let last = try await arguments.months?.to.period(session.database) else { return nil }
    guard last >= month else { throw CommandFailure.usage("--to \(last) is before --from \(month)") }
    guard last.label - month.label < ReportCommand.mostMonths else {
      throw CommandFailure.usage(
        "\(month) to \(last) are more than the \(ReportCommand.mostMonths) months that are added up at once")
    }
    return last
  }

  private var destination: ReportDestination {
    if let out = arguments.out { return .file(out) }
    let console = session.console
    return .stream { chunk in try console.output.write(String(decoding: chunk, as: UTF8.self)) }
  }

  private func sentence(_ outcome: ReportOutcome, _ request: ReportRequest, file: String) -> String {
    let facts = [
      outcome.rows == 1 ? "1 row" : "\(outcome.rows) rows",
      // What is added up has no state: it is as it is now.
      request.hasState ? outcome.state.rawValue : nil,
      outcome.sha256.map { "sha256 \($0)" },
    ]
    let done = outcome.kind == .nothingToDo ? "is there already" : "written"
    return
      "\(printable(file)) \(done): \(([request.span] + facts.compactMap(\.self)).joined(separator: ", "))"
  }
}
