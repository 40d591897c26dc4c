import PostgreSQL
import Queue

/// By what a share is known: `S12`.
struct ShareID: Hashable, Sendable, ColumnValue, CustomStringConvertible {
  let value: Int64

  /// The id with a number.
  init(_ value: Int64) {
    self.value = value
  }

  /// The id with a number.
  init(stored: Int64) { self.init(stored) }

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
struct Share: Sendable, Equatable, RenamedColumns {
  static let columns = ["id": "share", "owner": "user"]

  /// With whom a user shares.
  enum Reader: Sendable, Equatable {
    /// The login of a clinician.
    case clinician(String)
    /// Another user; nil for one whom this login does not see.
    case carer(String?)
  }

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
        + [.timestamp(timestamp(expiresAt))], as: ShareID?.self, while: "requesting a share of user \(user)"
    ).run(on: database, as: actor)
    guard let id else { throw UserDirectory.unknown(user) }
    return id
  }

  /// Accepts a share that was requested of this login.
  ///
  /// - Throws: `notFound` for one that is not this login's; `badRow` for one that has ended.
  func accept(_ id: ShareID, by actor: AuditActor? = nil) async throws(JobQueueError) {
    let accepting = Statement(
      SQLFunction("accept_share", 1), [.int64(id.value)], as: Bool.self, while: "accepting share \(id)")
    try require(id, try await accepting.run(on: database, as: actor))
  }

  /// Ends a share; one that has ended stays as it is.
  ///
  /// - Throws: `notFound` for one that is not this login's to end.
  func revoke(_ id: ShareID, by actor: AuditActor? = nil) async throws(JobQueueError) {
    let revoking = Statement(
      SQLFunction("revoke_share", 1), [.int64(id.value)], as: Bool.self, while: "revoking share \(id)")
    try require(id, try await revoking.run(on: database, as: actor))
  }

  private func require(_ id: ShareID, _ isDone: Bool) throws(JobQueueError) {
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
      SQLFunction("list_shares", 3),
      [.text(user.map(storable)), .int64(after?.value ?? 0), .int32(Int32(min(max(1, limit), 1000)))],
      as: [Share].self, while: "listing shares"
    ).run(on: database)
  }
}

extension Share.Reader: Decodable {
  private enum CodingKeys: CodingKey { case clinician, carer }

  /// Reads the two columns, of which one at most has a name.
  init(from decoder: any Decoder) throws {
    let columns = try decoder.container(keyedBy: CodingKeys.self)
    let clinician = try columns.decodeIfPresent(String.self, forKey: .clinician)
    let carer = try columns.decodeIfPresent(String.self, forKey: .carer)
    self = clinician.map { .clinician($0) } ?? .carer(carer)
  }
}
