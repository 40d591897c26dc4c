public import PostgreSQL
public import Queue
import Support

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
  ///   longer than 200 characters or has a character that is not seen, `permission` where a login that is restricted
  ///   to clinics gives an anchor, since it does not see a user of none.
  public func add(_ user: NewUser, by actor: AuditActor? = nil) async throws(JobQueueError) -> AddedUser {
    try check(user.reference)
    _ = try await requirePlan(user.plan)
    if let zone = user.zone { try await requireZone(zone) }
    let shard = try await shards.shard(of: user.reference)
    let adding = Statement(
      SQLFunction("add_user", 6),
      [
        .int16(shard), .text(user.reference), .text(user.plan), .text(user.zone),
        .text(user.name.map(storable)), .text(user.email.map(storable)),
      ], as: AddedUser.self, beside: ["shard": shard], while: "adding user \(user.reference)")
    guard let anchor = user.anchor else { return try await adding.run(on: database, as: actor) }
    let setting = Self.settingPeriod(of: user.reference, in: shard, anchor, nil)
    do {
      return try await database.transaction { transaction in
        if let actor { _ = try await transaction.query(actor.statement) }
        let added = try await adding.run(on: transaction)
        if added.isNew, try await setting.run(on: transaction) == nil {
          throw JobQueueError(
            .permission, "A login that sees some clinics only cannot add a user with an anchor.",
            advice: "Add the user without, and let a login that sees everybody set the anchor.")
        }
        return added
      }
    } catch {
      throw JobQueueError(error, while: "adding user \(user.reference)")
    }
  }

  /// All that is kept of a user; nil when there is no such user.
  func show(_ reference: String) async throws(JobQueueError) -> UserDetail? {
    let shard = try await shards.shard(of: reference)
    let detail = try await Statement(
      SQLFunction("user_shown", 2), [.int16(shard), .text(reference)], as: UserDetail?.self,
      beside: [
        "reference": reference, "shard": shard, "planHistory": [PlanEntry](), "profile": nil,
        "appearance": nil,
        "present": nil,
      ], while: "reading user \(reference)"
    ).run(on: database)
    guard var detail else { return nil }
    detail.planHistory = try await planHistory(shard, detail.userID)
    detail.profile = try await profile(shard, detail.userID)
    detail.appearance = try await appearances(of: [reference])[reference]
    detail.present = try await period(shard, reference)
    return detail
  }

  /// A page of the users by reference.
  ///
  /// - Parameter after: the last reference of the page before; nil for the first page.
  public func list(after: String? = nil, limit: Int = 100) async throws(JobQueueError) -> [UserSummary] {
    let statements = try await shards.shards().map { shard in
      Statement(
        SQLFunction("list_users", 3), [.int16(shard), .text(after ?? ""), .int32(Int32(clamping: limit))],
        as: [UserSummary].self, beside: ["planName": nil], while: "listing users")
    }
    let users = try await database.run(statements).flatMap { $0 }
    let plans = try await PlanDirectory(database).list()
    let names = Dictionary(plans.map { ($0.name, $0.displayName) }) { first, _ in first }
    return users.sorted { $0.reference.utf8.lexicographicallyPrecedes($1.reference.utf8) }.prefix(limit).map {
      var user = $0
      user.planName = user.plan.flatMap { names[$0] }
      return user
    }
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
      SQLFunction("set_plan", 4),
      [.int16(shard), .text(reference), .text(plan), .timestamp(timestamp(from))],
      as: Bool.self, while: "setting the plan of user \(reference)"
    ).run(on: database, as: actor)
    guard isDone else { throw Self.unknown(reference) }
  }

  /// Sets the zone in which a user's coming jobs are counted; jobs that exist keep their month.
  ///
  /// - Throws: `notFound` for an unknown user, `invalid` for an unknown zone.
  func setZone(
    _ reference: String, zone: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) {
    try await requireZone(zone)
    let shard = try await shards.shard(of: reference)
    let isDone = try await Statement(
      SQLFunction("set_zone", 3), [.int16(shard), .text(reference), .text(zone)], as: Bool.self,
      while: "setting the zone of user \(reference)"
    ).run(on: database, as: actor)
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
      file: "server/zone.sql", [.text(storable(zone))], while: "looking for a zone"
    ) { rows in
      try rows.first?.string("name") == zone
    }.run(on: database)
    guard !isKnown else { return }
    throw JobQueueError(
      .invalid, "There is no time zone \(zone).", advice: "Use a name like Europe/Berlin or UTC.")
  }

  private func planHistory(_ shard: Int16, _ userID: Int64) async throws(JobQueueError) -> [PlanEntry] {
    try await Statement(
      SQLFunction("plans_of_user", 2), [.int16(shard), .int64(userID)], as: [PlanEntry].self,
      while: "reading a user's plans"
    ).run(on: database)
  }

  private func profile(_ shard: Int16, _ userID: Int64) async throws(JobQueueError) -> Profile? {
    try await Statement(
      SQLFunction("person_of", 2), [.int16(shard), .int64(userID)], as: Profile?.self,
      while: "reading a user's profile"
    ).run(on: database)
  }
}

extension UserDirectory {
  /// The most characters of an address, as the database has it.
  private static let longestAddress = 2000

  /// Sets where a user's photo is; nil for nowhere. Whether it may be fetched from there, the caller has judged.
  ///
  /// - Throws: `notFound` for an unknown user, `invalid` for an address that is too long.
  func setPhoto(_ reference: String, url: String?) async throws(JobQueueError) {
    if let url, url.unicodeScalars.count > Self.longestAddress {
      throw JobQueueError(.invalid, "A photo's address has at most \(Self.longestAddress) characters.")
    }
    let shard = try await shards.shard(of: reference)
    let isDone = try await Statement(
      SQLFunction("set_photo", 3), [.int16(shard), .text(reference), .text(url.map(storable))],
      as: Bool.self, while: "setting the photo of user \(reference)"
    ).run(on: database)
    guard isDone else { throw Self.unknown(reference) }
  }

  /// A page of the photos of those users who have one, by their references.
  ///
  /// - Parameter after: the last reference of the page before; nil for the first page.
  func photos(after: String? = nil, limit: Int = 100) async throws(JobQueueError) -> [UserPhoto] {
    let statements = try await shards.shards().map { shard in
      Statement(
        SQLFunction("list_photos", 3), [.int16(shard), .text(after ?? ""), .int32(Int32(clamping: limit))],
        as: [UserPhoto].self, while: "listing photos")
    }
    let photos = try await database.run(statements).flatMap { $0 }
    return Array(
      photos.sorted { $0.reference.utf8.lexicographicallyPrecedes($1.reference.utf8) }.prefix(limit))
  }
}
