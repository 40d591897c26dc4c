import Csodium
import Support

/// The token of a user, by which the user's app reaches the gateway: `aq1.`, the user's shard, and 32 random bytes in
/// base64 for addresses. The database has its hash alone. It shows itself nowhere.
public struct UserToken: Sendable, Equatable {
  /// The whole token, as it is given to the app.
  public let text: String
  /// The shard of its user.
  public let shard: Int16

  /// What every token begins with, so that programs which look for secrets know it.
  public static let prefix = "aq1."

  /// Characters of 32 bytes in base64 without padding.
  private static let randomCount = 43

  /// A new one for a user of a shard.
  ///
  /// - Throws: `unavailable`.
  public init(shard: Int16) throws(ImageEncryptionError) {
    self.shard = shard
    text = Self.prefix + "\(shard)." + Sodium.base64(try Sodium.randomBytes(32), isForAddresses: true)
  }

  /// One that an app gave; nil for a text that is none. Whether it is somebody's only the database knows.
  public init?(_ text: String) {
    guard text.hasPrefix(Self.prefix), text.utf8.count <= 64 else { return nil }
    let parts = text.dropFirst(Self.prefix.count).split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let shard = Int16(parts[0]), shard >= 0, String(shard) == parts[0],
      parts[1].utf8.count == Self.randomCount, parts[1].utf8.allSatisfy(Self.isDigit)
    else { return nil }
    self.shard = shard
    self.text = text
  }

  /// The SHA-256 of the whole text, by which the database knows it.
  public var hash: [UInt8] { SHA256.digest(of: Array(text.utf8)) }

  /// Whether a character is one of base64 for addresses (RFC 4648, section 5).
  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

extension UserToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Always `<redacted>`.
  public var description: String { "<redacted>" }
  /// Always `<redacted>`.
  public var debugDescription: String { description }
  /// Shows nothing to `dump` and to a debugger's printing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
