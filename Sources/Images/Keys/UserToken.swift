import Ccrypto
import Csodium
public import Support

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

extension UserToken: Redacted {}

/// The secret by which a webhook's messages are signed, as Standard Webhooks has it: the receiver has it too, and
/// sees by it who sent a message. It shows itself nowhere.
public struct WebhookSecret: Sendable {
  private let bytes: [UInt8]

  /// Bytes of a new secret; the standard wants 24 to 64.
  private static let count = 32

  /// A new one, of random bytes.
  ///
  /// - Throws: `unavailable`.
  public init() throws(ImageEncryptionError) {
    bytes = try Sodium.randomBytes(Self.count)
  }

  /// One that is there, as the database keeps it, encrypted for an address.
  ///
  /// - Throws: `noKey` when the key file lacks the key, `tampered` when it was changed or is another address's.
  public init(_ encrypted: [UInt8], of url: String, keys: KeyRing) throws(ImageEncryptionError) {
    bytes = try keys.openFile(encrypted, name: Self.name(url))
  }

  /// The secret under the current key of a key file. It opens for the same address alone: to change the address in the
  /// database is to make the webhook useless.
  ///
  /// - Throws: `noKey` or `unavailable`.
  public func encrypted(for url: String, keys: KeyRing) throws(ImageEncryptionError) -> [UInt8] {
    try keys.encryptFile(bytes, name: Self.name(url))
  }

  /// The secret as it is given to the receiver: `whsec_` and its bytes in base64.
  public var text: String { "whsec_" + Sodium.base64(bytes) }

  /// The signature of a message, `v1,` and the HMAC-SHA-256 of its number, its time and its body in base64.
  ///
  /// - Parameters:
  ///   - id: The message's number, `webhook-id`.
  ///   - timestamp: Seconds since 1970, `webhook-timestamp`.
  public func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
    let signed = Array("\(id).\(timestamp).".utf8) + body
    let hash = [UInt8](unsafeUninitializedCapacity: 32) { hash, count in
      var written: UInt32 = 0
      let outcome = HMAC(
        EVP_sha256(), bytes, Int32(bytes.count), signed, signed.count, hash.baseAddress, &written)
      precondition(outcome != nil && written == 32, "libcrypto cannot compute an HMAC.")
      count = 32
    }
    return "v1," + Sodium.base64(hash)
  }

  private static func name(_ url: String) -> String { "webhook \(url)" }
}

extension WebhookSecret: Redacted {}

/// A key under which images are hashed, so that whoever has the database and a picture, and not the key file, cannot
/// find out whether the picture is in it.
struct HashKey: Sendable {
  let memory: KeyMemory

  /// A key that is there.
  init(_ memory: KeyMemory) {
    self.memory = memory
  }

  /// The key that follows from a key of the key file, by libsodium's derivation of keys.
  ///
  /// - Throws: `unavailable`.
  init(from key: WrappingKey) throws(ImageEncryptionError) {
    memory = try KeyMemory { derived in
      key.memory.withKey { key in
        _ = crypto_kdf_derive_from_key(derived, AEAD.keyBytes, 1, Self.context, key)
      }
    }
  }

  /// What the derived key is for: 8 bytes, which must not change.
  private static let context = "imgehash"

  /// The HMAC-SHA-256 of bytes: 32 bytes. By libcrypto, which uses the processor's own instructions where there are any.
  func hash(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 32) { hash, count in
      var written: UInt32 = 0
      let outcome = memory.withKey { key in
        HMAC(
          EVP_sha256(), key, Int32(AEAD.keyBytes), bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count,
          hash.baseAddress, &written)
      }
      precondition(outcome != nil && written == 32, "libcrypto cannot compute an HMAC.")
      count = 32
    }
  }
}

extension KeyRing {
  /// The hash by which an image is known, taken before it is encrypted: the HMAC-SHA-256 under a key that is derived
  /// from the key file's first key.
  public func imageHash(of image: [UInt8]) -> [UInt8] {
    image.withUnsafeBytes { bytes in hashKeys.first.map { $0.hash(of: bytes) } ?? [] }
  }
}
