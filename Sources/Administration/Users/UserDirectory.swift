import AnalysisCore
import Formatting
public import JobQueue
public import PostgreSQL

/// The users: who may submit, under which plan, in which zone.
public struct UserDirectory: Sendable {
  let database: ConnectionPool
  let shards: ShardDirectory

  /// The users of a database.
  public init(_ database: ConnectionPool) {
    self.database = database
    shards = ShardDirectory(database)
  }

  /// Adds a user; one who is there already is left as it is.
  ///
  /// - Throws: `notFound` for an unknown plan, `invalid` for an unknown zone or a reference that is empty,
  ///   longer than 200 characters or has a character that is not seen.
  public func add(_ user: NewUser) async throws(JobQueueError) -> AddedUser {
    try check(user.reference)
    _ = try await requirePlan(user.plan)
    if let zone = user.zone { try await requireZone(zone) }
    let shard = try await shards.shard(of: user.reference)
    return try await Statement(
      "SELECT o_user_id, o_created FROM analysis.add_user($1, $2, $3, $4, $5, $6)",
      [
        .int16(shard), .text(user.reference), .text(user.plan), .text(user.zone),
        .text(user.name.map(storable)), .text(user.email.map(storable)),
      ], while: "adding user \(user.reference)"
    ) { rows in
      let row = try rows.single()
      return AddedUser(userID: try row.int64(0), shard: shard, isNew: try row.bool(1))
    }.run(on: database)
  }

  /// All that is kept of a user; nil when there is no such user.
  public func show(_ reference: String) async throws(JobQueueError) -> UserDetail? {
    let shard = try await shards.shard(of: reference)
    let account = try await Statement(
      QueueSQL.text("users/show.sql"), [.int16(shard), .text(reference)], while: "reading user \(reference)"
    ) { rows in
      rows.first
    }.run(on: database)
    guard let account else { return nil }
    let userID: Int64
    do { userID = try account.int64(0) } catch {
      throw JobQueueError(error, while: "reading user \(reference)")
    }
    let history = try await planHistory(shard, userID)
    let profile = try await profile(shard, userID)
    let clinic = try await ClinicDirectory(database).clinic(of: userID, in: shard)
    do {
      return try UserDetail(
        account, reference: reference, shard: shard, clinic: clinic, planHistory: history, profile: profile)
    } catch {
      throw JobQueueError(error, while: "reading user \(reference)")
    }
  }

  /// A page of the users by reference.
  ///
  /// - Parameter after: the last reference of the page before; nil for the first page.
  public func list(after: String? = nil, limit: Int = 100) async throws(JobQueueError) -> [UserSummary] {
    let statements = try await shards.shards().map { shard in
      Statement(
        QueueSQL.text("users/list.sql"),
        [.int16(shard), .text(after ?? ""), .int32(Int32(clamping: limit))], while: "listing users"
      ) { rows in
        try rows.map { try UserSummary($0) }
      }
    }
    let users = try await database.run(statements).flatMap { $0 }
    return Array(
      users.sorted { $0.reference.utf8.lexicographicallyPrecedes($1.reference.utf8) }.prefix(limit))
  }

  /// Gives a user a plan from a time on; nil for now.
  ///
  /// - Parameter actor: who does it, for the audit; nil for what the server knows itself.
  /// - Throws: `notFound` for an unknown user or plan.
  public func setPlan(
    _ reference: String, plan: String, from: Double? = nil, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    _ = try await requirePlan(plan)
    let shard = try await shards.shard(of: reference)
    let isDone = try await Statement(
      "SELECT analysis.set_plan($1, $2, $3, $4)",
      [.int16(shard), .text(reference), .text(plan), .timestamp(timestamp(from))],
      while: "setting the plan of user \(reference)"
    ) { rows in
      try rows.single().bool(0)
    }.run(on: database, as: actor)
    guard isDone else { throw Self.unknown(reference) }
  }

  /// Sets the zone in which a user's coming jobs are counted; jobs that exist keep their month.
  ///
  /// - Throws: `notFound` for an unknown user, `invalid` for an unknown zone.
  public func setZone(
    _ reference: String, zone: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    try await requireZone(zone)
    let shard = try await shards.shard(of: reference)
    let isDone = try await Statement(
      QueueSQL.text("users/set_zone.sql"), [.int16(shard), .text(reference), .text(zone)],
      while: "setting the zone of user \(reference)"
    ) { rows in
      try rows.single().bool(0)
    }.run(on: database, as: actor)
    guard isDone else { throw Self.unknown(reference) }
  }

  static func unknown(_ reference: String) -> JobQueueError {
    JobQueueError(
      .notFound, "There is no user \(reference).", advice: "Add the user with analysisctl users add.")
  }

  /// With a mark that hides itself or turns text round, two users could look like one, and a list like another.
  private func check(_ reference: String) throws(JobQueueError) {
    guard (1...200).contains(reference.unicodeScalars.count),
      reference.unicodeScalars.allSatisfy(\.isPrintable)
    else {
      throw JobQueueError(
        .invalid,
        "A user's reference must have from 1 to 200 characters, and none that cannot be seen (control and format"
          + " characters, blanks other than the space).")
    }
  }

  private func requirePlan(_ name: String) async throws(JobQueueError) {
    let plans = try await PlanDirectory(database).list()
    guard !plans.contains(where: { $0.name == name }) else { return }
    throw JobQueueError(
      .notFound, "There is no plan \(name).",
      advice: "The plans are \(plans.map(\.name).joined(separator: ", ")).")
  }

  private func requireZone(_ zone: String) async throws(JobQueueError) {
    let isKnown = try await Statement(
      "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_timezone_names WHERE name = $1)", [.text(storable(zone))],
      while: "looking for a zone"
    ) { rows in
      try rows.single().bool(0)
    }.run(on: database)
    guard !isKnown else { return }
    throw JobQueueError(
      .invalid, "There is no time zone \(zone).", advice: "Use a name like Europe/Berlin or UTC.")
  }

  private func planHistory(_ shard: Int16, _ userID: Int64) async throws(JobQueueError) -> [PlanEntry] {
    try await Statement(
      QueueSQL.text("users/plan_history.sql"), [.int16(shard), .int64(userID)],
      while: "reading a user's plans"
    ) { rows in
      try rows.map { PlanEntry(plan: try $0.string(0), from: try $0.doubleIfPresent(1)) }
    }.run(on: database)
  }

  private func profile(_ shard: Int16, _ userID: Int64) async throws(JobQueueError) -> Profile? {
    try await Statement(
      QueueSQL.text("users/profile.sql"), [.int16(shard), .int64(userID)], while: "reading a user's profile"
    ) { rows in
      try rows.first.map { try Profile($0) }
    }.run(on: database)
  }
}
