import PostgreSQL
import Queue
import Support

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
      SQLFunction(
        "set_period", 4, "o_from", "o_changed", "o_period", "o_starts", "o_ends", "o_starts_local",
        "o_ends_local"),
      [.int16(shard), .text(reference), .int16(Int16(clamping: anchor)), .int16(from?.label)],
      while: "setting the period of user \(reference)"
    ) { rows in
      try rows.first.map { row in
        AnchorChange(
          from: try row.int16IfPresent("o_from").flatMap(Period.init(label:)),
          isChanged: try row.bool("o_changed"), month: try row.period("o_period"),
          start: try row.localTime("o_starts"), end: try row.localTime("o_ends"))
      }
    }
  }

  /// The present period of a user.
  func period(_ shard: Int16, _ reference: String) async throws(JobQueueError) -> UserPeriod? {
    try await Statement(
      SQLFunction(
        "user_period", 2, "o_period", "o_anchor", "o_starts", "o_ends", "o_starts_local", "o_ends_local",
        "o_next_from", "o_next_anchor"), [.int16(shard), .text(reference)],
      while: "reading a user's period"
    ) { rows in
      try rows.first.map { row in
        UserPeriod(
          month: try row.period("o_period"), anchor: try row.int("o_anchor"),
          from: try row.localTime("o_starts"), until: try row.localTime("o_ends"),
          next: try row.int16IfPresent("o_next_from").flatMap(Period.init(label:)).map {
            UserPeriod.Change(from: $0, anchor: try row.int("o_next_anchor"))
          })
      }
    }.run(on: database)
  }
}

extension Row {
  /// A moment, and beside it what the clocks of a zone show then.
  fileprivate func localTime(_ column: String) throws -> LocalTime {
    LocalTime(
      microseconds: try timestamp(column).microsecondsSince1970,
      local: try timestamp("\(column)_local").microsecondsSince1970)
  }
}
