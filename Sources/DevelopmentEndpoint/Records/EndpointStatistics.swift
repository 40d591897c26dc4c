/// What the endpoint has done since it started.
public struct EndpointStatistics: Sendable, Codable, Equatable {
  /// Uploads that have begun.
  public let uploads: Int
  /// Uploads open now.
  public let inFlight: Int
  /// The most uploads that were open at once.
  public let maximumInFlight: Int
  /// Uploads by what became of them: `analysis`, a class of failure, or `status-401` and the like where the
  /// endpoint itself refused.
  public let outcomes: [String: Int]
  /// Different idempotency keys (or pictures, where a request had no key).
  public let keys: Int
  /// Tries beyond the first of each key.
  public let repeatedTries: Int
  /// Pictures in the cache.
  public let images: Int
  /// Accounts there are.
  public let accounts: Int
  /// Log-ins that succeeded.
  public let logins: Int
  /// Refresh tokens exchanged.
  public let refreshes: Int
}
