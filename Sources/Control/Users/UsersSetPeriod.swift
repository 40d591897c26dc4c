import CommandLineTool
import PostgreSQL
import Queue
import Support

enum UsersSetPeriodCommand {
  static let anchor = Option<Int?>(
    "anchor", .int(in: UserDirectory.anchors),
    help: "The day of the month on which the user's periods end; 1 for calendar months.")
  static let from = Option<String?>(
    "from", .month,
    help: "The first month that ends on it; the first that has not begun and has no jobs unless given.")

  static let command = ControlCommand(
    "set-period", abstract: "Set the day of the month on which a user's months end.",
    discussion: """
      A month ends at midnight of that day by the clocks of the user's zone, or of the month's last day where it is \
      shorter, and has the name of the month in which it ends: with anchor 15, 2026-12 is from 15 November until 15 \
      December. The limit is free again then.

      A month that has begun, or in which jobs are counted (also those submitted with --at), keeps its days: a --from of \
      such a month is refused. The first month with a new anchor may be shorter or longer than a month, and the command \
      says so. Who has used nothing yet has the anchor from the beginning. Where nothing changes, the exit code is 5.
      """,
    examples: [
      Example("analysisctl users set-period u1 --anchor 15", "As early as may be."),
      Example("analysisctl users set-period u1 --anchor 15 --from 2027-01", "From a month on."),
      Example("analysisctl users set-period u1 --anchor 1", "Calendar months again."),
    ],
    inputs: [anchor, from, ReasonOption.reason, UsersCommand.user],
    exitCodes: [.done, .refused, .nothingToDo, .usage, .unreachable, .tryLater]
  ) { context in
    let user = try context[UsersCommand.user]
    guard let anchor = try context[anchor] else {
      throw CommandFailure.usage("--anchor is missing", advice: "Give a day from 1 to 31.")
    }
    let from = try context[from].map { text throws(CommandFailure) in
      guard let month = Period(text) else {
        throw CommandFailure.usage("--from \(text) is not of the years 2000 to 2699")
      }
      return month
    }
    return try await context.withSession { session in
      let change = try await UserDirectory(session.database).setPeriod(
        user, anchor: anchor, from: from, by: session.actor)
      try session.view.show(UsersSetPeriodResponse(user: user, anchor: anchor, change: change))
      return change.isChanged ? .done : .nothingToDo
    }
  }
}

/// An anchor that was set.
struct UsersSetPeriodResponse: Sendable, Equatable, Presentable {
  let user: String
  let anchor: Int
  let change: AnchorChange

  var json: JSONValue {
    [
      "user": .string(user), "anchor": .count(anchor), "from": .month(change.from),
      "changed": .bool(change.isChanged), "month": .month(change.month),
      "starts": .string(change.start.text), "ends": .string(change.end.text), "days": .count(change.days),
    ]
  }

  func text(width: Int?, paint: Paint) -> String {
    let holds = change.from.map { " from \($0)" } ?? " from the beginning"
    guard change.isChanged else { return "anchor of \(printable(user)) is \(anchor) already\n" }
    return """
      anchor of \(printable(user)): \(anchor)\(holds)
      \(change.month) is \(change.start.short) to \(change.end.short): \(length)

      """
  }

  /// `30 days`, `14 days, which is shorter than a month`.
  private var length: String {
    let days = change.days == 1 ? "1 day" : "\(change.days) days"
    return switch change.days {
    case ..<28: "\(days), which is shorter than a month"
    case 32...: "\(days), which is longer than a month"
    default: days
    }
  }
}

/// The present period of a user: what is called a month, and ends on the day of the user's anchor.
struct UserPeriod: Sendable, Equatable {
  /// An anchor that comes after the one that is in force.
  struct Change: Sendable, Equatable {
    /// The first month that ends on it.
    let from: Period
    /// The day of the month.
    let anchor: Int
  }

  /// The month by which it is labelled: the one in which it ends.
  let month: Period
  /// The day of the month on which it ends; 1 for a calendar month.
  let anchor: Int
  /// The first moment, by the clocks of the user's zone.
  let from: LocalTime
  /// The first moment that is no longer in it: when the limit is free again.
  let until: LocalTime
  /// The change of the anchor that is to come; nil for none.
  let next: Change?
}

/// What setting an anchor came to.
struct AnchorChange: Sendable, Equatable {
  /// The first month that ends on it; nil for all of them.
  let from: Period?
  /// Whether it is another than before.
  let isChanged: Bool
  /// The first month of it that is not over.
  let month: Period
  /// From when until when that is, by the clocks of the user's zone.
  let start, end: LocalTime

  /// How many days that month has.
  var days: Int { end.date.number - start.date.number }
}

extension UserDirectory {
  /// The days of a month that can be an anchor; 1 is the calendar month.
  static let anchors = 1...31

  /// Sets the day of the month on which a user's periods end.
  ///
  /// - Parameter from: the first month that ends on it; nil for the first that has neither begun nor been counted in.
  /// - Throws: `notFound` for an unknown user, `badRow` for a month that has begun or in which something is counted.
  func setPeriod(
    _ reference: String, anchor: Int, from: Period? = nil, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> AnchorChange {
    let shard = try await shards.shard(of: reference)
    let change = try await Self.settingPeriod(of: reference, in: shard, anchor, from)
      .run(on: database, as: actor)
    guard let change else { throw Self.unknown(reference) }
    return change
  }

  /// The statement that does so; nil where there is no such user, or none whom the login sees.
  static func settingPeriod(
    of reference: String, in shard: Int16, _ anchor: Int, _ from: Period?
  ) -> Statement<AnchorChange?> {
    Statement(
      SQLFunction("set_period", 4),
      [.int16(shard), .text(reference), .int16(Int16(clamping: anchor)), .int16(from?.label)],
      as: AnchorChange?.self, while: "setting the period of user \(reference)")
  }

  /// The present period of a user.
  func period(_ shard: Int16, _ reference: String) async throws(JobQueueError) -> UserPeriod? {
    try await Statement(
      SQLFunction("user_period", 2), [.int16(shard), .text(reference)], as: UserPeriod?.self,
      while: "reading a user's period"
    ).run(on: database)
  }
}

extension AnchorChange: Decodable {
  private struct AnchorColumns: Decodable {
    let from: Period?
    let changed: Bool
    let period: Period
    let span: Span
  }

  /// Reads a row of `analysis.set_period`.
  init(from decoder: any Decoder) throws {
    let row = try AnchorColumns(from: decoder)
    self.init(
      from: row.from, isChanged: row.changed, month: row.period, start: row.span.from, end: row.span.until)
  }
}

extension UserPeriod: Decodable {
  private struct PeriodColumns: Decodable {
    let period: Period
    let anchor: Int
    let span: Span
    let nextFrom: Period?
    let nextAnchor: Int?
  }

  /// Reads a row of `analysis.user_period`.
  init(from decoder: any Decoder) throws {
    let row = try PeriodColumns(from: decoder)
    var next: Change?
    if let from = row.nextFrom, let anchor = row.nextAnchor { next = Change(from: from, anchor: anchor) }
    self.init(
      month: row.period, anchor: row.anchor, from: row.span.from, until: row.span.until, next: next)
  }
}
