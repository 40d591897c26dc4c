import CommandLineTool
import PostgreSQL
import Queue
import Support

/// A month, and how far it is from its statement.
struct BilledMonth: Sendable, Equatable, Decodable {
  /// How far a month is.
  enum State: String, Sendable, CaseIterable, ColumnValue {
    /// It is not over in every zone.
    case running
    /// It is over, and what belongs to it may still come.
    case grace
    /// It may be closed, and nobody has.
    case due
    /// Its usage is stated and never changes.
    case closed
  }

  let period: Period
  /// How far it is.
  let state: State
  /// From when on it may be closed, in seconds since 1970.
  let dueAt: Double
  /// When it was closed, in seconds since 1970; nil while it is not.
  let closedAt: Double?
  /// How many lines its statement has; nil while it is not closed.
  let lines: Int?
  /// Whether something in its statement has a price; false while it is not closed.
  let isPriced: Bool
}

extension BilledMonth {
  /// The command that closes a month.
  static func commandToClose(_ month: Period) -> String { "analysisctl month close \(month)" }

  /// The command that closes every month that can be closed.
  static let commandToCloseAll = "analysisctl month close --due"
}

/// What the closing of a month would state.
struct ClosingPreview: Sendable, Equatable, Decodable {
  let period: Period
  /// How many users have a line.
  let users: Int
  /// How many of them used something.
  let active: Int
  /// The units that they used.
  let used: Int
  /// How many of these lie over a limit.
  let over: Int
  /// How many jobs of the month have neither a result nor died; they are stated as used.
  let open: Int
  /// By how many lines months that are closed already changed since.
  let adjustments: Int
  /// The sum of their units.
  let adjusted: Int
}

/// The months of an installation, and the closing of one.
struct MonthDirectory: Sendable {
  private let database: ConnectionPool
  /// The moment that stands for the server's clock in tests.
  private let moment: Double?

  /// To look at all users and jobs of a month takes a while.
  private static let deadline: Duration = .seconds(600)

  /// The months of a database.
  init(_ database: ConnectionPool) {
    self.init(database, moment: nil)
  }

  init(_ database: ConnectionPool, moment: Double?) {
    self.database = database
    self.moment = moment
  }

  private var now: Parameter { .timestamp(timestamp(moment)) }

  /// The months from the first in which anything was used to the running one, the oldest first.
  func list() async throws(JobQueueError) -> [BilledMonth] {
    try await Statement(
      SQLFunction("list_months", 1), [now], as: [BilledMonth].self, while: "listing the months"
    ).run(on: database, deadline: Self.deadline)
  }

  /// A month that may be closed and is not.
  struct Due: Decodable {
    let period: Period
    /// Since when, in seconds since 1970.
    let dueAt: Double
  }

  /// Those months, the oldest first; every login may ask.
  func due() async throws(JobQueueError) -> [Due] {
    try await Statement(
      SQLFunction("months_due", 1), [now], as: [Due].self, while: "looking for months that are due"
    ).run(on: database, deadline: Self.deadline)
  }

  /// From when on a month may be closed, in seconds since 1970.
  func dueAt(of month: Period) async throws(JobQueueError) -> Double {
    try await Statement(
      SQLFunction("statement_due", 1), [.int16(month.label)], as: Double.self,
      while: "asking when \(month) may be closed"
    ).run(on: database)
  }

  /// How many jobs of a month have neither a result nor died.
  func openJobs(of month: Period) async throws(JobQueueError) -> Int {
    try await Statement(
      SQLFunction("open_jobs", 1), [.int16(month.label)], as: Int.self,
      while: "counting the open jobs of \(month)"
    ).run(on: database, deadline: Self.deadline)
  }

  /// What the closing of a month would state. Nothing is changed.
  ///
  /// - Throws: `permission` where this login may not close it.
  func preview(_ month: Period) async throws(JobQueueError) -> ClosingPreview {
    let open = try await openJobs(of: month)
    return try await Statement(
      SQLFunction("preview_closing", 2), [.int16(month.label), now], as: ClosingPreview.self,
      beside: ["period": month, "open": open], while: "looking at what \(month) comes to"
    ).run(on: database, deadline: Self.deadline)
  }

  /// Closes a month: stores its usage as a statement, and records that in the audit. False, and nothing is changed,
  /// where it is closed already or may not be closed yet.
  func close(_ month: Period, by actor: AuditActor? = nil) async throws(JobQueueError) -> Bool {
    let doing = "closing \(month)"
    guard moment != nil else {
      return try await Statement(
        SQLFunction("close_usage", 1), [.int16(month.label)], as: Bool.self, while: doing
      ).run(on: database, as: actor, deadline: Self.deadline)
    }
    return try await Statement(
      SQLFunction("close_usage", 2), [.int16(month.label), now], as: Bool.self, while: doing
    ).run(on: database, as: actor, deadline: Self.deadline)
  }

  /// Asks whether this login may close months at all. Nothing is changed.
  ///
  /// - Throws: `permission` where it may not.
  func requireRight() async throws(JobQueueError) {
    // It is no month, so that there is nothing to close.
    try await Statement(SQLFunction("close_usage", 1), [.int16(0)], while: "closing a month")
      .run(on: database)
  }
}

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
      return try session.show(MonthsResponse(lines: lines))
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
    return lines.table([
      .init("MONTH") { Cell($0.month.period.description) },
      .init("STATE") { Cell($0.month.state.rawValue, Self.colours[$0.month.state] ?? nil) },
      .init("CLOSABLE FROM") { Cell(Moment.short($0.month.dueAt)) },
      .init("CLOSED") { Cell(Moment.short($0.month.closedAt)) },
      .init("LINES", alignment: .right) { Cell($0.month.lines.map(String.init) ?? "") },
      .init("OPEN JOBS", alignment: .right) { Cell($0.openJobs.map(String.init) ?? "") },
    ]).render(width: width, paint: paint)
  }

  private static let colours: [BilledMonth.State: Paint.Colour] = [
    .closed: .green, .due: .yellow, .grace: .dim,
  ]
}

/// Whether months are closed when they can be: until then nobody can be billed by them.
struct MonthCheck: DatabaseCheck {
  let group = "months"
  let needsSchema = true

  /// How long a month may wait: timer and cron close every morning.
  private static let patience = 86_400.0

  func findings(_ database: AskedDatabase) async throws -> [Finding] {
    [Self.judge(try await MonthDirectory(database.pool).due(), now: UnixTime.now.secondsSince1970)]
  }

  static func judge(_ due: [MonthDirectory.Due], now: Double) -> Finding {
    let waiting = due.filter { now - $0.dueAt > patience }
    guard let first = waiting.first else { return .ok("months", "no month waits to be closed") }
    let since = "for \(Moment.age(now - first.dueAt))"
    guard waiting.count > 1 else {
      return .warning(
        "months", "\(first.period) could be closed \(since), and nobody has closed it",
        "Close it: \(BilledMonth.commandToClose(first.period)). Bills and purge wait for it.")
    }
    return .warning(
      "months",
      "\(waiting.count) months could be closed, \(first.period) \(since), and nobody has closed them",
      "Close them, the oldest first: \(BilledMonth.commandToCloseAll). Bills and purge wait for it.")
  }
}
