import PostgreSQL
import Queue

/// A user's token as it is kept: without its hash.
struct TokenRecord: Sendable, Equatable, Decodable {
  /// Its number among the user's.
  let number: Int
  /// What the office calls it.
  let label: String?
  /// The login that added it.
  let createdBy: String
  /// Seconds since 1970, here and below.
  let createdAt: Double
  /// Nil: it does not expire.
  let expiresAt: Double?
  /// Nil: it was not revoked.
  let revokedAt: Double?
  /// The day of its last use, by UTC, as `2026-10-01`; nil: it was not used.
  let lastUsedOn: String?
  /// `valid`, `expired` or `revoked`.
  let state: String
}

/// The tokens of users, by which their apps reach the gateway.
struct TokenDirectory: Sendable {
  private let database: ConnectionPool

  /// The tokens of a database.
  init(_ database: ConnectionPool) {
    self.database = database
  }

  /// Adds a token of a user by its hash, and answers its number.
  ///
  /// - Parameters:
  ///   - shard: the user's shard.
  ///   - expiresAt: when it expires, in seconds since 1970; nil for never.
  /// - Throws: `notFound` for a user whom the login does not see; `badRow` for a label or a time that cannot be.
  func add(
    _ hash: [UInt8], of user: String, inShard shard: Int16, label: String?, expiresAt: Double?,
    by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Int {
    let number = try await Statement(
      SQLFunction("add_token", 5),
      [
        .int16(shard), .text(user), .bytes(hash), .text(label.map(storable)),
        .timestamp(timestamp(expiresAt)),
      ], as: Int?.self, while: "adding a token of user \(user)"
    ).run(on: database, as: actor)
    guard let number else { throw UserDirectory.unknown(user) }
    return number
  }

  /// The tokens of a user, by number.
  func list(of user: String) async throws(JobQueueError) -> [TokenRecord] {
    let shard = try await ShardDirectory(database).shard(of: user)
    return try await Statement(
      SQLFunction("list_tokens", 2), [.int16(shard), .text(user)], as: [TokenRecord].self,
      while: "listing the tokens of user \(user)"
    ).run(on: database)
  }

  /// Revokes a token of a user, or all of them, and answers how many were valid.
  ///
  /// - Parameter number: the token's; nil for all.
  /// - Throws: `notFound` for a user whom the login does not see, and for a token that there is not.
  func revoke(
    _ number: Int?, of user: String, by actor: AuditActor? = nil
  ) async throws(JobQueueError) -> Int {
    let shard = try await ShardDirectory(database).shard(of: user)
    let count = try await Statement(
      SQLFunction("revoke_tokens", 3),
      [.int16(shard), .text(user), .int32(number.map { Int32(clamping: $0) })], as: Int?.self,
      while: "revoking tokens of user \(user)"
    ).run(on: database, as: actor)
    guard let count else {
      guard let number else { throw UserDirectory.unknown(user) }
      throw JobQueueError(
        .notFound, "There is no token \(number) of a user \(user).",
        advice: "Look with analysisctl users token list.")
    }
    return count
  }
}
