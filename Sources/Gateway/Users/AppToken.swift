internal import System

/// A user's token, as an app shows it with each request: `aq1.SHARD.` and 32 random bytes in base64url. What is kept of
/// it is its hash alone.
struct AppToken: Hashable, Sendable {
  /// The user's shard.
  let shard: Int16
  /// The SHA-256 of the whole text.
  let hash: [UInt8]

  /// Reads the value of an `Authorization` header; nil for anything but such a token.
  init?(authorization: String?) {
    guard let authorization else { return nil }
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    self.init(String(parts[1].drop { $0 == " " }))
  }

  /// Reads a token; nil for anything else.
  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "aq1", parts[1].count <= 4, parts[1].utf8.allSatisfy(Self.isDigit),
      let shard = Int16(parts[1]), parts[2].utf8.count == 43, parts[2].utf8.allSatisfy(Self.isBase64URL)
    else { return nil }
    self.shard = shard
    hash = SHA256.digest(of: Array(text.utf8))
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private static func isBase64URL(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
      || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
  }
}
