import PostgreSQL
import Queue

/// By what a share is known: `S12`.
struct ShareID: Hashable, Sendable, CustomStringConvertible {
  /// The number.
  let value: Int64

  /// The id with a number.
  init(_ value: Int64) {
    self.value = value
  }

  /// Reads `S12` or `12`; nil for anything else.
  init?(_ text: String) {
    let digits = text.first == "S" || text.first == "s" ? text.dropFirst() : text[...]
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(digits), value > 0 else {
      return nil
    }
    self.value = value
  }

  /// `S12`.
  var description: String { "S\(value)" }
}

/// A share: a user lets a clinician or a carer read their analyses.
struct Share: Sendable, Equatable {
  /// With whom a user shares.
  enum Reader: Sendable, Equatable {
    /// The login of a clinician.
    case clinician(String)
    /// Another user; nil for one whom this login does not see.
    case carer(String?)
  }

  /// Its number.
  let id: ShareID
  /// Whose analyses they are.
  let owner: String
  /// With whom they are shared.
  let reader: Reader
  /// `requested`, `active`, `expired`, `revoked`, or `gone` where the clinician's login is not there any more.
  let state: String
  /// Seconds since 1970, here and below.
  let requestedAt: Double
  /// Nil: nobody has accepted it.
  let acceptedAt: Double?
  /// Nil: it does not expire.
  let expiresAt: Double?
  /// Nil: it was not revoked.
  let revokedAt: Double?
}

/// The shares of a database.
struct ShareDirectory: Sendable {
  private let database: ConnectionPool

  /// The shares of a database.
  init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Requests for a user that somebody reads their analyses, and answers the share.
  ///
  /// - Parameter expiresAt: when it ends by itself, in seconds since 1970; nil for never.
  /// - Throws: `notFound` for a user whom the login does not see; `invalid` for a share with oneself; `badRow` for a
  ///   reader that there is not, or with whom the user shares already.
  func request(
    of user: String, for reader: Share.Reader, expiresAt: Double?, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> ShareID {
    let shards = ShardDirectory(database)
    let parameters: [Parameter]
    switch reader {
    case .clinician(let login): parameters = [.text(storable(login)), .int16(nil), .text(nil)]
    case .carer(let carer):
      guard let carer, carer != user else {
        throw JobQueueError(.invalid, "A user does not share with themselves: \(user).")
      }
      parameters = [.text(nil), .int16(try await shards.shard(of: carer)), .text(carer)]
    }
    let id = try await Statement(
      SQLFunction("request_share", 6),
      [.int16(try await shards.shard(of: user)), .text(user)] + parameters
        + [.timestamp(timestamp(expiresAt))], while: "requesting a share of user \(user)"
    ) { rows in
      try rows.single().int64IfPresent("request_share")
    }.run(on: database, as: actor)
    guard let id else { throw UserDirectory.unknown(user) }
    return ShareID(id)
  }

  /// Accepts a share that was requested of this login.
  ///
  /// - Throws: `notFound` for one that is not this login's; `badRow` for one that has ended.
  func accept(_ id: ShareID, by actor: AuditActor? = nil) async throws(JobQueueError) {
    try await require(id, SQLFunction("accept_share", 1), "accepting share \(id)", actor)
  }

  /// Ends a share; one that has ended stays as it is.
  ///
  /// - Throws: `notFound` for one that is not this login's to end.
  func revoke(_ id: ShareID, by actor: AuditActor? = nil) async throws(JobQueueError) {
    try await require(id, SQLFunction("revoke_share", 1), "revoking share \(id)", actor)
  }

  private func require(
    _ id: ShareID, _ function: SQLFunction, _ doing: String, _ actor: AuditActor?
  ) async throws(JobQueueError) {
    let column = function.columns[0]
    let isDone = try await Statement(function, [.int64(id.value)], while: doing) { rows in
      try rows.single().bool(column)
    }.run(on: database, as: actor)
    guard isDone else {
      throw JobQueueError(
        .notFound, "There is no share \(id) for this login.", advice: "Look with analysisctl share list.")
    }
  }

  /// The shares that this login looks after, or that are its own, by number.
  ///
  /// - Parameters:
  ///   - user: only those of this user, as owner or carer.
  ///   - after: only those behind this one.
  ///   - limit: how many at most; 1,000 if it is more.
  func list(
    user: String? = nil, after: ShareID? = nil, limit: Int = 100
  ) async throws(JobQueueError) -> [Share] {
    try await Statement(
      SQLFunction(
        "list_shares", 3, "o_share", "o_user", "o_clinician", "o_carer", "o_state", "o_requested_at",
        "o_accepted_at", "o_expires_at", "o_revoked_at"),
      [.text(user.map(storable)), .int64(after?.value ?? 0), .int32(Int32(min(max(1, limit), 1000)))],
      while: "listing shares"
    ) { rows in
      try rows.map { try Share($0) }
    }.run(on: database)
  }
}

extension Share {
  fileprivate init(_ row: Row) throws(PostgreSQLError) {
    let clinician = try row.stringIfPresent("o_clinician")
    let carer = try row.stringIfPresent("o_carer")
    self.init(
      id: ShareID(try row.int64("o_share")), owner: try row.string("o_user"),
      reader: clinician.map { .clinician($0) } ?? .carer(carer),
      state: try row.string("o_state"), requestedAt: try row.seconds("o_requested_at"),
      acceptedAt: try row.secondsIfPresent("o_accepted_at"),
      expiresAt: try row.secondsIfPresent("o_expires_at"),
      revokedAt: try row.secondsIfPresent("o_revoked_at"))
  }
}
