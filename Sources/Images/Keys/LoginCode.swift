public import Support

/// The code by which a user's app begins a session: 16 digits and letters of 80 random bits, in groups of four, and the
/// user's shard behind them where it is not the first. A person reads it from a screen or a letter and types it: small
/// letters, spaces and dashes are no matter, and neither is who takes a letter for a digit (Crockford's base 32).
public struct LoginCode: Sendable, Equatable {
  /// The code as it is shown, and as its hash is taken.
  public let text: Secret
  /// The shard of its user.
  public let shard: Int16

  private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
  private static let count = 16

  /// A new one for a user of a shard.
  ///
  /// - Throws: `unavailable`.
  public init(shard: Int16) throws(ImageEncryptionError) {
    // 32 divides 256: each digit is as likely as any other.
    let random = try Sodium.randomBytes(Self.count).map { Self.digits[Int($0) % Self.digits.count] }
    self.init(random, shard)
  }

  /// One that somebody typed; nil for a text that is none. Whether it counts only the database knows.
  public init?(_ text: String) {
    guard text.utf8.count <= 64 else { return nil }
    let typed = text.uppercased().utf8.compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "-"): nil
      case UInt8(ascii: "O"): UInt8(ascii: "0")
      case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
      default: byte
      }
    }
    let (random, shard) = (
      typed.prefix(Self.count), String(decoding: typed.dropFirst(Self.count), as: UTF8.self)
    )
    guard random.count == Self.count, random.allSatisfy(Self.digits.contains),
      let number = shard.isEmpty ? 0 : Int16(shard), number >= 0, shard.isEmpty || String(number) == shard
    else { return nil }
    self.init(Array(random), number)
  }

  private init(_ random: [UInt8], _ shard: Int16) {
    self.shard = shard
    let groups = stride(from: 0, to: Self.count, by: 4).map {
      String(decoding: random[$0..<$0 + 4], as: UTF8.self)
    }
    text = Secret((groups + (shard == 0 ? [] : [String(shard)])).joined(separator: "-"))
  }

  /// The SHA-256 of the text, by which the database knows it.
  public var hash: [UInt8] { SHA256.digest(of: text.bytes) }
}
