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

  /// The month.
  let period: Period
  /// How far it is.
  let state: State
  /// From when on it may be closed, in seconds since 1970.
  let dueAt: Double
  /// When it was closed, in seconds since 1970; nil while it is not.
  let closedAt: Double?
  /// How many lines its statement has; nil while it is not closed.
  let lines: Int?
}

extension BilledMonth {
  /// The command that closes a month.
  static func commandToClose(_ month: Period) -> String { "analysisctl month close \(month)" }

  /// The command that closes every month that can be closed.
  static let commandToCloseAll = "analysisctl month close --due"
}

/// What the closing of a month would state.
struct ClosingPreview: Sendable, Equatable, Decodable {
  /// The month.
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
