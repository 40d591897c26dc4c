internal import Images

/// A user's token, as an app shows it with each request. What is kept of it is its hash alone.
struct AppToken: Hashable, Sendable {
  /// The user's shard.
  let shard: Int16
  /// The SHA-256 of the whole text.
  let hash: [UInt8]

  /// Reads the value of an `Authorization` header; nil for anything but a user's token.
  init?(authorization: String?) {
    guard let authorization else { return nil }
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    self.init(text: String(parts[1].drop { $0 == " " }))
  }

  /// Reads a token; nil for anything else.
  init?(text: String) {
    guard let token = UserToken(text) else { return nil }
    shard = token.shard
    hash = token.hash
  }
}
